import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Engine } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, readBack, temporaryFolder } from '../harness.ts';

const folder = temporaryFolder();
let engine: Engine;
beforeAll(async () => {
  engine = await openSmall(folder.file);
  await createDocs(engine);
  await engine.addDocuments('t', [doc('a', { n: 1, s: 'one', o: { p: 1 } }), doc('b', { n: 2, o: { p: 2 } })]);
});
afterAll(async () => {
  await engine.close();
  folder.dispose();
});

test('fields that have columns are read and written alone', async () => {
  const keysSeen: string[][] = [];
  const change = (document: object) => {
    keysSeen.push(Object.keys(document));
    return { ...document, n: 9 };
  };
  await engine.changeDocuments('t', ['a', 'b'], change, new Set(['n', 'o']));
  expect(keysSeen).toEqual([
    ['n', 'o'],
    ['n', 'o'],
  ]);
  expect(await readBack(engine, 't', ['a', 'b'])).toEqual([
    { n: 9, s: 'one', o: { p: 1 } },
    { n: 9, o: { p: 2 } },
  ]);
});

test('a field without a column leads to whole documents', async () => {
  const keysSeen: string[][] = [];
  const change = (document: object) => {
    keysSeen.push(Object.keys(document));
    return { ...document, fresh: 1 };
  };
  await engine.changeDocuments('t', ['a'], change, new Set(['fresh']));
  expect(keysSeen.at(-1)).toEqual(['n', 's', 'o']);
  expect(await readBack(engine, 't', ['a'])).toEqual([{ n: 9, s: 'one', o: { p: 1 }, fresh: 1 }]);
});
