import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { pacedReports } from '../../src/mcp/progress.ts';

describe('pacedReports()', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function start(signal = new AbortController().signal) {
    const sent: number[] = [];
    const messages: string[] = [];
    const reports = pacedReports(
      (done, _total, message) => {
        sent.push(done);
        messages.push(message);
      },
      'run_query',
      signal,
    );
    return { ...reports, sent, messages };
  }

  it('leaves out what comes too soon, and what is no further', () => {
    const { report, end, sent } = start();
    report(0, 10, '');
    report(1, 10, '');
    vi.advanceTimersByTime(200);
    report(2, 10, '');
    vi.advanceTimersByTime(200);
    report(2, 10, '');
    report(1, 10, '');
    report(3, 10, '');
    expect(sent).toEqual([0, 2, 3]);
    end();
  });

  it('reports the seconds of a call that says nothing, and none after the end', () => {
    const { end, sent, messages } = start();
    vi.advanceTimersByTime(3_500);
    expect(sent).toEqual([1, 2, 3]);
    expect(messages[0]).toBe('run_query has been running for 1 s');
    end();
    vi.advanceTimersByTime(5_000);
    expect(sent).toHaveLength(3);
  });

  it('reports no seconds where the tool says how far it is', () => {
    const { report, end, sent } = start();
    report(5, 10, '');
    vi.advanceTimersByTime(5_000);
    expect(sent).toEqual([5]);
    end();
    report(6, 10, '');
    expect(sent).toEqual([5]);
  });

  it('goes on where the same request is run once more', () => {
    const { signal } = new AbortController();
    const first = start(signal);
    vi.advanceTimersByTime(2_000);
    first.end();
    vi.advanceTimersByTime(5_000);
    const second = start(signal);
    vi.advanceTimersByTime(1_000);
    expect(second.sent).toEqual([8]);
    second.end();
  });

  it('says nothing to a client that has given up', () => {
    const stop = new AbortController();
    const { report, end, sent } = start(stop.signal);
    stop.abort();
    report(1, 2, '');
    vi.advanceTimersByTime(3_000);
    expect(sent).toEqual([]);
    end();
  });
});
