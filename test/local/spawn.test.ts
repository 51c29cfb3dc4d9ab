import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { takeSpawnLock } from '../../src/local/spawn.ts';

let base = '';
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'colloquy-spawn-'));
});
afterEach(() => rm(base, { recursive: true, force: true }));

describe('takeSpawnLock()', () => {
  test('gives the lock to one, and to the next after that', async () => {
    const file = join(base, 'spawn.lock');
    const release = await takeSpawnLock(file);
    expect(await readFile(file, 'utf8')).toBe(String(process.pid));
    expect(await takeSpawnLock(file)).toBeUndefined();
    await release?.();
    expect(existsSync(file)).toBe(false);
    expect(await takeSpawnLock(file)).toBeDefined();
  });

  test('gives the right without a lock where none can be made', async () => {
    const release = await takeSpawnLock(join(base, 'no such folder', 'spawn.lock'));
    expect(release).toBeDefined();
    await release?.();
  });
});
