import type { McpUiHostContext } from '@modelcontextprotocol/ext-apps';
import { recordOf } from './bridge.ts';

/** Only names defined by the protocol; their values come from the host. */
const STYLE_NAME = /^--(color|font|border|shadow)-[a-z0-9-]+$/;

/** Applies the host's appearance: light or dark, its colours and fonts, and the available space. */
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
