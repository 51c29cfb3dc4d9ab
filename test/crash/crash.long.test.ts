import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BINARY, buildIfStale } from '../scenarios/binary.ts';
import { playRounds } from './rounds.ts';

let folder = '';
beforeEach(() => {
  buildIfStale();
  folder = mkdtempSync(join(tmpdir(), 'colloquy-crash-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

const SHORT = {
  documents: 8_000,
  loadMs: 1_200,
  quietShare: 0,
  backupShare: 0.3,
  commandShare: 0.3,
  clockShare: 0.3,
  handOverShare: 0.4,
};

// `npm run crash -- 200` runs more rounds.
test('a killed service loses nothing that it acknowledged, and applies nothing by half', {
  timeout: 300_000,
}, async () => {
  const seed = Math.floor(Math.random() * 2 ** 32);
  const { rounds, acknowledged, lost, half } = await playRounds({ bin: BINARY, folder, rounds: 3, seed, ...SHORT });
  expect({ seed, rounds, lost, half }).toEqual({ seed, rounds: 3, lost: [], half: [] });
  expect(acknowledged).toBeGreaterThan(0);
});
