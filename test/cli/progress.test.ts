import { describe, expect, it } from 'vitest';
import { shownProgress } from '../../src/cli/progress.ts';

function shown(isTTY: boolean) {
  const written: string[] = [];
  const clock = { now: 0 };
  const screen = { isTTY, columns: 60, write: (text: string) => written.push(text) };
  return { ...shownProgress(screen, () => clock.now), written, clock };
}

describe('shownProgress()', () => {
  it('draws a bar over itself on a terminal, and takes it away', () => {
    const { report, clear, written } = shown(true);
    report(25, 100, '5 documents\u001b[31m are in');
    expect(written[0]).toBe(`\r\u001b[K[${'#'.repeat(6)}${'-'.repeat(18)}] 25% 5 documents\\u001b[31m are in`);
    report(3, undefined, 'running for 3 s');
    expect(written[1]).toBe('\r\u001b[Krunning for 3 s');
    report(1, 2, 'x'.repeat(100));
    expect(written[2]?.replace('\r\u001b[K', '')).toHaveLength(59);
    clear();
    clear();
    expect(written.slice(3)).toEqual(['\r\u001b[K']);
  });

  it.each([0, undefined])('cuts nothing for a terminal of %s columns', (columns) => {
    let written = '';
    const { report } = shownProgress({ isTTY: true, columns, write: (text: string) => (written += text) });
    report(1, 2, 'copying and checking the backup');
    expect(written).toMatch(/50% copying and checking the backup$/);
  });

  it('writes a line now and then elsewhere, and none for a short call', () => {
    const { report, clear, written, clock } = shown(false);
    clock.now = 4_000;
    report(10, 100, 'soon');
    clock.now = 5_000;
    report(20, 100, 'twenty');
    clock.now = 9_000;
    report(30, 100, 'too soon');
    clear();
    expect(written).toEqual(['colloquy: 20% twenty\n']);
  });

  it('is quiet while somebody is asked', async () => {
    const { report, quietly, written } = shown(true);
    report(1, 2, 'half');
    const answer = await quietly(async () => {
      report(2, 2, 'whole');
      return 'yes';
    });
    expect(answer).toBe('yes');
    expect(written).toHaveLength(2);
    expect(written[1]).toBe('\r\u001b[K');
  });
});
