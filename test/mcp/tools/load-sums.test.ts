import { describe, expect, it } from 'vitest';
import { book, number, rows, text } from '../../cli/files/book.ts';
import { loadingHere } from './load-here.ts';

const { call, rowsOf, write } = loadingHere();

const jsonl = (all: readonly object[]) => `${all.map((one) => JSON.stringify(one)).join('\n')}\n`;
const told = async (path: string) => String((await call('load_file', { path })).data['warnings'] ?? '');
const warned = async (query: string) => (await call('run_query', { query })).data['warnings'] ?? [];
const whereIn = (note: string) => /WHERE ("\w+" IS NOT NULL|coalesce[^.]*\))\./.exec(note)?.[1] ?? 'no condition';

describe('rows that sum up others', () => {
  it('are told of a workbook and kept for later chats, and so is a label above its block', async () => {
    const row = (who: string, days: number) => [who === '' ? '<c/>' : text(who), number(String(days))];
    const all = [row('Ada', 11), row('Bob', 22), row('Subtotal', 33), row('Cy', 5), row('Di', 6), row('Subtotal', 11)];
    write('sheet.xlsx', book(rows([text('who'), text('days')], ...all, row('Total', 44))));
    const where = `coalesce("who", '') NOT IN ('Subtotal', 'Total')`;
    const note = `3 rows (row 4 "Subtotal"; 7, 8) seem to sum up others, or to stand below them: leave them out of sums and counts: WHERE ${where}.`;
    expect((await call('load_file', { path: 'sheet.xlsx', dry_run: true })).text).toContain('seem to sum up others');
    expect(await told('sheet.xlsx')).toContain(note);
    const { data } = await call('describe_collection', { collection: 'sheet' });
    expect(data['load_notes']).toEqual([expect.stringContaining(note)]);
    expect(await warned('SELECT sum(days) FROM sheet')).toEqual([expect.stringContaining(`WHERE ${where}.`)]);
    const label = (name: string, n: number) => row(name, n);
    const blocks = [label('N', 7), label('', 5), label('', 9), label('S', 8), label('', 4), label('', 3)];
    write('blocks.xlsx', book(rows([text('region'), text('n')], ...blocks)));
    expect(await told('blocks.xlsx')).toContain('"region" is empty in most rows');
  });

  it('are told of documents, of which the last are looked at, too', async () => {
    const items = Array.from({ length: 3_000 }, (_, at) => ({ item: `i${at}`, n: at, m: 2 }));
    write('docs.jsonl', jsonl([...items, { item: 'Total', n: 4_498_500, m: 6_000 }]));
    const note = await told('docs.jsonl');
    expect(note).toContain('1 row of those looked at (line 3,001 "Total")');
    expect(await rowsOf(`SELECT sum(m) FROM docs WHERE ${whereIn(note)}`)).toEqual([[6000]]);
    write('list.json', JSON.stringify([...items.slice(0, 20), { item: 'Total', n: 190, m: 40 }]));
    expect(await told('list.json')).toContain('1 row (document 21 "Total")');
    const sparse = items.slice(0, 20).map((one, at) => (at === 7 ? { item: 'Care total', n: 1 } : one));
    write('sparse.jsonl', jsonl(sparse));
    expect(await told('sparse.jsonl')).not.toContain('sum up');
  });

  const budget = [0, 1, 2].flatMap((dept) => [
    ...[0, 1, 2].map((at) => `CC${3 * dept + at},${100 + 3 * dept + at},50`),
    `Dept ${dept + 1},${303 + 9 * dept},150`,
  ]);

  it('are found by their numbers, without a word, and a statement that leaves out some of them is told', async () => {
    write('budget.csv', ['centre,jan,feb', ...budget, 'Grand Total,936,450', ''].join('\n'));
    const note = await told('budget.csv');
    expect(note).toContain('4 rows (line 5 "Dept 1"; 9, 13, 14)');
    const where = whereIn(note);
    expect(await rowsOf(`SELECT sum(jan) FROM budget WHERE ${where}`)).toEqual([[936]]);
    expect(await warned(`SELECT sum(jan) FROM budget WHERE ${where}`)).toEqual([]);
    const partly = `SELECT sum(jan) FROM budget WHERE coalesce(centre, '') NOT IN ('Grand Total')`;
    expect(await warned(partly)).toEqual([expect.stringContaining(`does not leave them out: WHERE ${where}.`)]);
  });

  it.each<[string, string[], boolean]>([
    ['a label in any words', ['region,n', 'N,10', 'S,20', 'E,5', 'Total general,35'], true],
    ['the word of a balance', ['region,n', 'N,10', 'S,20', 'E,5', 'Endsaldo,35'], true],
    ['no label', ['item,qty,n', 'a,1,100', 'b,2,200', 'c,3,50', ',6,350'], true],
    ['another row below', ['region,n', 'N,10', 'S,20', 'E,5', 'Total,35', 'W,7'], true],
    [
      'numbers or words as labels',
      ['k,n', ...Array.from({ length: 40 }, (_, at) => `${at + 50},3`), 'Total,120'],
      true,
    ],
    ['a name that is near to a sum', ['a,b,n', 'x,y,10', 'z,y,5', 'Total,,15.2', 'w,y,2', 'v,y,1'], false],
  ])('are known to later statements with %s', async (_, lines, isKnown) => {
    const name = `known${lines.length}${lines.join('').length}`;
    write(`${name}.csv`, `${lines.join('\n')}\n`);
    const note = await told(`${name}.csv`);
    expect(note).toContain('sum up others');
    expect(await warned(`SELECT sum(n) FROM ${name}`)).toHaveLength(isKnown ? 1 : 0);
    expect(String(await warned(`SELECT sum(n) FROM ${name} WHERE ${whereIn(note)}`))).not.toContain('sum up others');
  });

  it('are told to be maybe more, where a total is not the sum of the other rows', async () => {
    const some = ['A,4,7', 'B,5,9', 'Dept 1,9,', 'C,6,8', 'D,3,2', 'Dept 2,9,'];
    write('more.csv', ['centre,jan,note', ...some, 'Grand Total,18,', ''].join('\n'));
    expect(await told('more.csv')).toMatch(/Grand Total.*other rows may sum up some, too\./);
    write('exact.csv', 'centre,jan\nA,4\nB,5\nTotal,9\n');
    expect(await told('exact.csv')).not.toContain('may sum up some');
  });

  it.each([
    ['columns that are alike', ['a,b,c', '1,1,1', '2,2,2', '3,3,3', '4,4,4']],
    ['amounts of both signs', ['day,amount', 'mon,100', 'tue,-100', 'wed,100', 'thu,100', 'fri,-100', 'sat,100']],
    ['numbers of 0 and 1', ['who,x,y', 'a,1,0', 'b,0,1', 'c,1,1', 'd,1,0', 'e,0,1']],
    ['a brand', ['brand,country,n', 'Shell,UK,40', 'Esso,US,30', 'Care,,20', 'BP,UK,35', 'Aral,DE,10', 'Jet,US,5']],
  ])('are not seen in %s', async (_, lines) => {
    write('none.csv', `${lines.join('\n')}\n`);
    expect((await call('load_file', { path: 'none.csv', dry_run: true })).text).not.toContain('sum up');
  });
});

it('lines of a statement with the balance alone are told with what leaves them out', async () => {
  const day = (at: number) => String(at).padStart(2, '0');
  const entries = [0, 1, 2].flatMap((week) => [
    ...[0, 1, 2].map((at) => `${day(week * 4 + at + 2)}/01/2024,SHOP,10,,${1000 - 10 * (3 * week + at + 1)}`),
    `${day(week * 4 + 5)}/01/2024,BALANCE CARRIED FORWARD,,,${970 - 30 * week}`,
  ]);
  const head = ['Date,Description,Debit,Credit,Balance', '01/01/2024,Opening balance,,,1000'];
  write('bank.csv', [...head, ...entries, ',Total,90,,', ''].join('\n'));
  const note = await told('bank.csv');
  expect(note).toContain(
    '5 rows (line 2 "Opening balance"; 6, 10, 14, …) seem to sum up others, or to stand below them, or to carry a balance',
  );
  expect(await rowsOf(`SELECT count(*) FROM bank WHERE ${whereIn(note)}`)).toEqual([[9]]);
});
