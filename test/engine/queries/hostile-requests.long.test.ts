import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import type { JsonValue } from '../../../src/contract/json/json.ts';
import { bindParameters } from '../../../src/engine/duckdb/queries/parameters.ts';
import { readStatement } from '../../../src/engine/duckdb/sql/statement.ts';
import { HOSTILE_REQUESTS, type HostileBody } from '../../hostile-requests.ts';

/*
 * What is done with a request before the engine has it, on the thread that serves everybody: where that grows faster
 * than the request, one of these takes minutes or for ever.
 */

/** Many times what the slowest takes beside seven other test runs on two cores. */
const HELD_MAX_MS = 10_000;

async function read({ sql }: HostileBody): Promise<void> {
  try {
    const statement = await readStatement(sql.query);
    const parameters = sql.parameters ?? [];
    bindParameters(
      statement.parameters,
      parameters.map(({ name, type, value }) => ({ name, type, value: value as JsonValue })),
    );
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError);
  }
}

describe('a hostile request is read or refused in time that grows with its length', () => {
  test.each(HOSTILE_REQUESTS)('%s', async (_, body) => {
    const made = body();
    const start = performance.now();
    await read(made);
    expect(performance.now() - start).toBeLessThan(HELD_MAX_MS);
  });
});
