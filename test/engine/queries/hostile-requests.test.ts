import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import type { JsonValue } from '../../../src/contract/json.ts';
import { HOSTILE_REQUESTS, type HostileBody } from '../../hostile-requests.ts';
import { createFixture, type Fixture } from '../fixture.ts';

/*
 * Whether work on a request grows with its length only: where it grows faster, one of these holds the thread for
 * minutes or for ever. How long they do hold it is measured in bench/, on a machine that does nothing else.
 */

/** Ten times what the slowest takes beside seven other test runs on two cores. */
const HELD_MAX_MS = 8_000;
const LOOK_MS = 5;

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture({ queryTimeoutMs: 10_000 });
});
afterAll(() => fixture.close());

/** The longest time for which nothing else had its turn. */
async function longestHold(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = performance.now();
  const look = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last - LOOK_MS);
    last = now;
  };
  const timer = setInterval(look, LOOK_MS);
  try {
    await work();
  } finally {
    clearInterval(timer);
    look();
  }
  return longest;
}

async function ask({ sql }: HostileBody): Promise<void> {
  try {
    const parameters = sql.parameters?.map(({ name, type, value }) => ({ name, type, value: value as JsonValue }));
    await fixture.queries.query({ sql: sql.query, parameters, generateWarnings: true });
  } catch (error) {
    // Refused with what to do, never a fault of ours.
    expect(error).toBeInstanceOf(ApiError);
    expect((error as ApiError).code).not.toBe('internal');
  }
}

describe('a hostile request is answered or refused without holding the thread', () => {
  test.each(HOSTILE_REQUESTS)('%s', { timeout: 60_000 }, async (_, body) => {
    const made = body();
    expect(await longestHold(() => ask(made))).toBeLessThan(HELD_MAX_MS);
  });
});
