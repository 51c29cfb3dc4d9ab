import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLifecycle } from '../../../src/service/app/lifecycle.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('createLifecycle()', () => {
  function start() {
    const onIdle = vi.fn();
    const lifecycle = createLifecycle({ idleMs: 100, onIdle });
    lifecycle.called(false);
    lifecycle.ready();
    return { lifecycle, onIdle };
  }

  it('is idle when no request came for the time', () => {
    const { lifecycle, onIdle } = start();
    vi.advanceTimersByTime(99);
    lifecycle.enter().end();
    vi.advanceTimersByTime(99);
    expect(onIdle).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(onIdle).toHaveBeenCalledOnce();
  });

  it('is not idle while something holds it, whatever ends in between', () => {
    const { lifecycle, onIdle } = start();
    const visit = lifecycle.enter();
    const release = lifecycle.hold();
    const another = lifecycle.hold();
    visit.end();
    release();
    release();
    vi.advanceTimersByTime(10_000);
    expect(onIdle).not.toHaveBeenCalled();
    another();
    vi.advanceTimersByTime(100);
    expect(onIdle).toHaveBeenCalledOnce();
  });

  it('waits longer for the first call', () => {
    const onIdle = vi.fn();
    const lifecycle = createLifecycle({ idleMs: 100, onIdle });
    lifecycle.ready();
    vi.advanceTimersByTime(4_999);
    expect(onIdle).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(onIdle).toHaveBeenCalledOnce();
  });

  it('started for one command, is idle as soon as that is done, unless others call', () => {
    const onIdle = vi.fn();
    const lifecycle = createLifecycle({ idleMs: 60_000, isForCommand: true, onIdle });
    lifecycle.ready();
    const visit = lifecycle.enter();
    lifecycle.called(true);
    vi.advanceTimersByTime(10_000);
    visit.end();
    vi.advanceTimersByTime(499);
    expect(onIdle).not.toHaveBeenCalled();
    const other = lifecycle.enter();
    lifecycle.called(false);
    other.end();
    vi.advanceTimersByTime(59_999);
    expect(onIdle).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(onIdle).toHaveBeenCalledOnce();
  });

  it('closes without waiting for what holds it', async () => {
    const { lifecycle } = start();
    lifecycle.hold();
    lifecycle.close();
    await expect(lifecycle.drained(60_000)).resolves.toBeUndefined();
  });
});
