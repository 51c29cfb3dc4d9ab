import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Engine } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, rowsOf, temporaryFolder } from '../harness.ts';

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

describe('a call that takes no text', () => {
  beforeEach(() => engine.addDocuments('t', [doc('a', { amount: '5', o: { at: '2026-01-01' }, n: 1 })]));

  test.each([
    ['sum(amount)', 'amount is text: TRY_CAST(amount AS DOUBLE)'],
    ['avg(d.amount)', 'd.amount is text: TRY_CAST(d.amount AS DOUBLE)'],
    ['round("amount", 2)', '"amount" is text: TRY_CAST("amount" AS DOUBLE)'],
    ['n * amount', 'amount is text: TRY_CAST(amount AS DOUBLE)'],
    ['sum(lower(amount))', 'x is text: TRY_CAST(x AS DOUBLE)'],
    ['month(o.at)', 'o.at is text: o.at::TIMESTAMP'],
    ['o.at - INTERVAL 1 DAY', 'o.at is text: o.at::TIMESTAMP'],
    ["'é', _event_time + INTERVAL 1 DAY, o.at + INTERVAL 1 DAY", 'o.at is text: o.at::TIMESTAMP'],
    ['_event_time + INTERVAL 1 DAY, INTERVAL 1 DAY + o.at', 'o.at is text: o.at::TIMESTAMP'],
    ['year(_event_time), year(o.at)', 'o.at is text: o.at::TIMESTAMP'],
    ["date_trunc('month', o.at)", 'o.at is text: o.at::TIMESTAMP'],
    ["date_diff('day', now(), o.at)", 'o.at is text: o.at::TIMESTAMP'],
    ['extract(month FROM o.at)', 'x is text: x::TIMESTAMP'],
    ['o.at - amount', 'o.at is text: TRY_CAST(o.at AS DOUBLE); for a time: o.at::TIMESTAMP'],
  ])('says what reads it, and lists no candidates: %s', async (expression, hint) => {
    const message = await messageOf(`SELECT ${expression} FROM docs AS d`);
    expect(message.split('\n')).toContain(hint);
    expect(message).not.toContain('Candidate');
    const [, cast] = /^(?:\S+) is text: (.*?)(?:;|$)/.exec(hint) ?? [];
    if (!hint.startsWith('x '))
      expect(await rowsOf(engine, `SELECT ${cast} IS NULL OR true FROM docs AS d`)).toHaveLength(1);
  });

  test('says so of the time of strftime()', async () => {
    expect(await messageOf("SELECT strftime(o.at, '%Y') FROM docs")).toContain("strftime(x::TIMESTAMP, '%Y-%m-%d')");
  });

  test('has few candidates where it is wrong otherwise', async () => {
    expect(await messageOf('SELECT lower(amount, 2) FROM docs')).toContain('lower(VARCHAR) -> VARCHAR');
    const message = await messageOf('SELECT n - o FROM docs');
    expect(message.split('\n').length).toBeLessThan(12);
    expect(message).toMatch(/and \d\d more/);
  });
});

test('a field of JSON that is compared with a decimal is to be cast', async () => {
  await engine.addDocuments('t', [doc('a', { v: 99.9 }), doc('b', { v: [1] }), doc('c', { v: {} })]);
  expect(await messageOf('SELECT * FROM docs WHERE v = 99.9')).toContain("TRY_CAST(x->>'$' AS DOUBLE)");
});

describe('a field that has no column', () => {
  const ODD = ['k4999', 'with space', "it's", 'quo"te', 'a.b', 'sl/ash~', 'back\\slash', 'ümläut', '$'];

  test('is found by what the error says, whatever its name', async () => {
    const columns = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, index]));
    const others = Object.fromEntries(ODD.map((key) => [key, `found ${key}`]));
    await engine.addDocuments('t', [doc('a', { ...columns, ...others })]);
    for (const key of ODD) {
      for (const from of ['docs', 'docs AS d']) {
        const prefix = from === 'docs' ? '' : 'd.';
        const message = await messageOf(`SELECT ${prefix}"${key.replaceAll('"', '""')}" FROM ${from}`);
        const [, expression] = /Fields without a column of their own are in _extra: (.*)$/.exec(message) ?? [];
        expect(expression, message).toBeDefined();
        expect(await rowsOf(engine, `SELECT ${expression} FROM docs`)).toEqual([[`found ${key}`]]);
      }
    }
  });

  test('is reported as missing, without a word about _extra, if every field has a column', async () => {
    await engine.addDocuments('t', [doc('a', { k: 1 })]);
    expect(await messageOf('SELECT nothing FROM docs')).not.toContain('_extra');
  });
});

test('UNNEST where rows are grouped says how to make the rows first', async () => {
  await engine.addDocuments('t', [doc('a', { l: ['x', 'x', 'y'] })]);
  const message = await messageOf('SELECT unnest(l), count(*) FROM docs GROUP BY 1');
  expect(message).toContain('SELECT x, count(*) FROM (SELECT unnest(list) AS x FROM t) GROUP BY x');
  expect(
    await rowsOf(engine, 'SELECT x, count(*) FROM (SELECT unnest(l) AS x FROM docs) GROUP BY x ORDER BY x'),
  ).toEqual([
    ['x', 2],
    ['y', 1],
  ]);
});
