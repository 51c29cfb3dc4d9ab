import type { Progress } from '../mcp/progress.ts';
import { plainText } from './log.ts';

/** Where progress is shown: standard error, or a substitute. */
export interface Screen {
  write(text: string): unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

const BAR_CHARS = 24;
/** Lines in a file or log are permanent: one now and then is enough, and none for a short call. */
const LINE_PAUSE_MS = 5_000;
const CLEAR_LINE = '\r\u001b[K';

/**
 * Shows how far a call is: as a bar on a terminal, which `clear` removes, and as lines elsewhere. Nothing is shown
 * while `quietly` runs, when somebody may be typing.
 */
export function shownProgress(screen: Screen, now: () => number = () => performance.now()) {
  let isDrawn = false;
  let isQuiet = false;
  let writtenAt = now();
  const clear = () => {
    if (isDrawn) screen.write(CLEAR_LINE);
    isDrawn = false;
  };
  const report: Progress = (done, total, message) => {
    if (isQuiet) return;
    const share = total === undefined || total <= 0 ? undefined : Math.min(1, done / total);
    const percent = share === undefined ? '' : `${Math.floor(100 * share)}% `;
    const text = plainText(`${percent}${message}`).replace(/\s+/g, ' ');
    if (screen.isTTY === true) {
      const bar = share === undefined ? '' : `[${'#'.repeat(Math.round(BAR_CHARS * share)).padEnd(BAR_CHARS, '-')}] `;
      // A line that wraps could not be drawn over. If a terminal reports no size (some report 0), nothing is cut.
      screen.write(`${CLEAR_LINE}${`${bar}${text}`.slice(0, screen.columns ? screen.columns - 1 : undefined)}`);
      isDrawn = true;
    } else if (now() - writtenAt >= LINE_PAUSE_MS) {
      screen.write(`colloquy: ${text}\n`);
      writtenAt = now();
    }
  };
  return {
    report,
    clear,
    async quietly<T>(work: () => Promise<T>): Promise<T> {
      clear();
      isQuiet = true;
      try {
        return await work();
      } finally {
        isQuiet = false;
      }
    },
  };
}
