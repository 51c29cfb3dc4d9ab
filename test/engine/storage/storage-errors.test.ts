import { describe, expect, test } from 'vitest';
import {
  committing,
  isCommitted,
  mayBeCommitted,
  OutcomeUnknown,
  openError,
  writeError,
} from '../../../src/engine/duckdb/storage/storage-errors.ts';

const FILE = '/data/mine/_colloquy.duckdb';
const LATE =
  'IO Error: Transaction COMMIT succeeded and is durable, but the autocheckpoint failed. The database has been invalidated. Original error: Could not write file: No space left on device';
const EARLY = 'TransactionContext Error: Failed to commit: Could not write file "x.wal": No space left on device';
const UNCLEAR = 'FATAL Error: Failed to commit: could not truncate the log: No space left on device';
const EARLIER =
  'FATAL Error: Failed: database has been invalidated because of a previous fatal error. Original error: No space left on device';

describe('the outcome of a COMMIT that failed', () => {
  test.each([
    ['stored, and the merge failed', LATE, true],
    ['not stored', EARLY, false],
    ['unclear', UNCLEAR, false],
    ['refused after an earlier failure', EARLIER, false],
  ])('%s: isCommitted()', (_, message, expected) => {
    expect(isCommitted(new Error(message))).toBe(expected);
  });

  test.each([
    ['not stored', EARLY, false],
    ['unclear', UNCLEAR, true],
    ['refused after an earlier failure', EARLIER, false],
  ])('%s: mayBeCommitted()', (_, message, expected) => {
    expect(mayBeCommitted(new Error(message))).toBe(expected);
  });

  test.each([
    ['stored, and the merge failed', LATE, 'done'],
    ['not stored', EARLY, 'Error'],
    ['unclear', UNCLEAR, 'OutcomeUnknown'],
    ['refused after an earlier failure', EARLIER, 'Error'],
  ])('of one statement alone is known as well: %s', async (_, message, expected) => {
    const fail = () => Promise.reject(new Error(message));
    const late: unknown[] = [];
    const sql = committing(Object.assign(fail, { again: fail }), (error) => late.push(error));
    for (const run of [sql, sql.again]) {
      const outcome = await run('INSERT INTO t VALUES (1)').then(
        () => 'done',
        (error: Error) => error.name,
      );
      expect(outcome).toBe(expected);
    }
    expect(late).toHaveLength(expected === 'done' ? 2 : 0);
  });
});

describe('writeError()', () => {
  test.each([
    'Out of Memory Error: could not allocate block of size 256.0 KiB (511.7 MiB/512.0 MiB used)',
    'TransactionContext Error: Failed to commit: failed to pin block of size 256.0 KiB (511.7 MiB/512.0 MiB used)',
  ])('says that memory is short: %s', (message) => {
    expect(writeError('write to collection "w.c"', FILE, new Error(message))).toMatchObject({
      code: 'resource_exceeded',
      message: expect.stringContaining('memory limit'),
    });
  });

  test('names the folder whose disk is full, and says that nothing is stored', () => {
    const error = writeError('write to collection "w.c"', FILE, new Error(EARLY));
    expect(error.code).toBe('storage_full');
    expect(error.message).toMatch(/^Cannot write to .*: the disk of the data folder "\/data\/mine" is full\. Nothing/);
  });

  test.each([UNCLEAR, 'INTERNAL Error: something else'])('does not claim an outcome that is unknown: %s', (message) => {
    const error = writeError('store the change', FILE, new OutcomeUnknown(new Error(message)));
    expect(error.message).toMatch(/may have been stored.*look before repeating it/);
    expect(error.message).not.toMatch(/Nothing of it is stored|try again/);
    expect(error.code).toBe('internal');
  });
});

describe('openError()', () => {
  test.each([
    Object.assign(new Error('mkdir failed'), { code: 'ENOSPC' }),
    new Error('IO Error: Could not write file: No space left on device'),
  ])('names the folder whose disk is full: %s', (cause) => {
    const error = openError(FILE, cause);
    expect(error.code).toBe('storage_full');
    expect(error.message).toContain('the disk of the data folder "/data/mine" is full');
  });
});
