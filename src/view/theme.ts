import type { McpUiHostContext } from '@modelcontextprotocol/ext-apps';
import { recordOf } from './bridge.ts';

/** Only the names that the protocol has; what they are set to is the host's. */
const STYLE_NAME = /^--(color|font|border|shadow)-[a-z0-9-]+$/;

/** Puts on what the host wears: light or dark, its colours and fonts, its room. */
export function wear({ theme, styles, containerDimensions, displayMode, safeAreaInsets }: McpUiHostContext): void {
  const root = document.documentElement;
  if (theme === 'light' || theme === 'dark') root.style.colorScheme = theme;
  for (const [name, value] of Object.entries(recordOf(styles?.variables))) {
    if (STYLE_NAME.test(name) && typeof value === 'string') root.style.setProperty(name, value);
  }
  const isFixed = typeof recordOf(containerDimensions)['height'] === 'number';
  root.classList.toggle('fills', isFixed || displayMode === 'fullscreen');
  for (const side of ['top', 'right', 'bottom', 'left'] as const) {
    const inset = recordOf(safeAreaInsets)[side];
    if (typeof inset === 'number') root.style.setProperty(`--inset-${side}`, `${inset}px`);
  }
}
