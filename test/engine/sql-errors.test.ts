import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Engine } from '../../src/engine/engine.ts';
import { createDocs, doc, openSmall, rowsOf, temporaryFolder } from './harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeEach(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine);
});

afterEach(async () => {
  await engine.close();
  folder.dispose();
});

const messageOf = (sql: string) =>
  engine.query({ sql }).then(
    () => 'no error',
    (error: Error) => error.message,
  );

describe('a field that has no column', () => {
  const ODD = ['k4999', 'with space', "it's", 'quo"te', 'a.b', 'sl/ash~', 'back\\slash', 'ümläut', '$'];

  test.each(ODD)('is found by what the error says: %s', async (key) => {
    const columns = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, index]));
    await engine.addDocuments('t', [doc('a', { ...columns, [key]: 'found' })]);
    for (const from of ['docs', 'docs AS d']) {
      const prefix = from === 'docs' ? '' : 'd.';
      const message = await messageOf(`SELECT ${prefix}"${key.replaceAll('"', '""')}" FROM ${from}`);
      const [, expression] = /Fields without a column of their own are in _extra: (.*)$/.exec(message) ?? [];
      expect(expression, message).toBeDefined();
      expect(await rowsOf(engine, `SELECT ${expression} FROM docs`)).toEqual([['found']]);
    }
  });

  test('is only missing where every field has a column', async () => {
    await engine.addDocuments('t', [doc('a', { k: 1 })]);
    expect(await messageOf('SELECT nothing FROM docs')).not.toContain('_extra');
  });
});
