import { afterEach, beforeEach, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/contract/json/json.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { renamedLook } from '../../../src/service/loading/renamed.ts';
import { openSmall, temporaryFolder } from '../../engine/harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeEach(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await engine.commit([
    { do: 'createWorkspace', workspace: 'w' },
    { do: 'createCollection', table: 't', workspace: 'w', name: 'c', recognizeTimes: false },
  ]);
  await add('1', { day: 1, place: 'a', cost: 1 });
});

afterEach(async () => {
  await engine.close();
  folder.dispose();
});

const add = (id: string, fields: JsonObject) => engine.addDocuments('t', [{ id, eventTimeMicros: null, fields }]);

const look = (lookMs?: number) => {
  const { signal } = new AbortController();
  return renamedLook({ engine, signal, caller: { keyHash: 'k' } }, { workspace: 'w', name: 'c' }, lookMs);
};

test('a field under another name is told, and that it was not looked for if counting all documents takes too long', async () => {
  const [inTime, late] = [await look(), await look(0)];
  await add('2', { day: 2, place: 'b', costs: 2 });
  const loaded = { added: 1, replaced: 0 };
  expect(await inTime(loaded)).toEqual({
    lasting: [expect.stringMatching(/^no "cost" in this file, but "costs", which/)],
    notLooked: [],
  });
  expect(await late(loaded)).toEqual({ lasting: [], notLooked: [expect.stringContaining('took too long')] });
});

test('nothing is counted where a load brings no new field', async () => {
  const late = await look(0);
  await add('2', { day: 2, place: 'b', cost: 2 });
  expect(await late({ added: 1, replaced: 0 })).toEqual({ lasting: [], notLooked: [] });
});
