import { afterAll, describe, expect, it } from 'vitest';
import { membersOf } from '../../../src/cli/files/json-members.ts';
import { filesFolder } from './opened.ts';

const { read, remove } = filesFolder();
afterAll(remove);

const USERS = Object.fromEntries(
  ['ann', 'b"ob', 'c\\d', 'é', ''].map((key, n) => [
    key,
    { name: `n{${n}"`, tags: [{ t: '}' }, []], o: n === 2 ? {} : { n } },
  ]),
);
const DOCUMENTS = Object.entries(USERS).map(([key, user]) => ({ _id: key, ...user }));

async function documentsIn(
  text: string,
  bytes: number,
  keyField = '_id',
): Promise<{ documents: unknown[]; lines: number }> {
  async function* pieces() {
    const all = Buffer.from(text);
    // Each piece is room that is used again.
    for (let at = 0; at < all.length; at += bytes) {
      const piece = Buffer.from(all.subarray(at, at + bytes));
      yield { piece, bytesRead: at };
      piece.fill(0x20);
    }
  }
  let read = '';
  for await (const { piece } of membersOf(pieces(), keyField)) read += piece.toString();
  const documents = JSON.parse(`[${read.replace(/\}(\s*)\{(?="_)/g, '}$1,{')}]`) as unknown[];
  return { documents, lines: read.split('\n').length };
}

describe('the members of an object of objects', () => {
  it('are documents with their keys as _id, however they are written, and wherever pieces end', async () => {
    for (const indent of [0, 2]) {
      const text = JSON.stringify({ ...USERS, empty: {} }, null, indent);
      for (const bytes of [1, 3, 7, 10_000]) {
        const { documents, lines } = await documentsIn(text, bytes);
        expect(documents).toEqual([...DOCUMENTS, { _id: 'empty' }]);
        expect(lines).toBe(text.split('\n').length);
      }
    }
  });

  it('are told of where they are alike, and are read where list_path says so', async () => {
    const text = (whole: unknown) => `${JSON.stringify(whole)}\n`;
    const told = async (whole: unknown) => (await read('a.json', text(whole))).file?.warnings?.() ?? [];
    expect(await told(USERS)).toEqual([
      'The file is one document, and its 5 members are alike: "list_path": "*" in "format_params" makes each of them a document, with its key as _id.',
    ]);
    expect(await told({ at: 1, all: { users: USERS } })).toEqual([
      expect.stringContaining('its 5 members of "all.users" are alike: "list_path": "all.users.*"'),
    ]);
    expect(await told({ a: { x: 1, _id: 1 }, b: { x: 2 }, c: { x: 3 }, d: { x: 3 } })).toEqual([
      expect.stringContaining('with its key as _key'),
    ]);
    const users = await read('u.json', text({ all: { users: { ann: { n: 1 } } } }), { listPath: 'all.users.*' });
    expect(users.documents).toEqual([{ _id: 'ann', n: 1 }]);
    const none = await read('u.json', text({ all: { b: 1 } }), { listPath: 'all.*' });
    expect(none.error).toContain('at the "list_path" "all.*". These are at "*".');
  });

  it('are none of a table by columns, of settings, or of few; those of a document with an _id are its own', async () => {
    const told = async (whole: unknown) => (await read('a.json', JSON.stringify(whole))).file?.warnings?.() ?? [];
    expect(await told({ name: { 5: 'a', 6: 'b' }, age: { 5: 1, 6: 2 } })).toEqual([
      expect.stringContaining('written with orient="records"'),
    ]);
    expect(await told({ db: { host: 'a', port: 1 }, cache: { ttl: 1 }, log: { level: 'x' }, q: { size: 1 } })).toEqual(
      [],
    );
    expect(await told({ a: { x: 1 }, b: { x: 2 } })).toEqual([]);
    expect(await told({ _id: 'x', members: USERS })).toEqual([]);
  });

  it('are no documents of a table by columns as pandas writes it, which is refused unless it is asked for as one', async () => {
    const column = Object.fromEntries(Array.from({ length: 3_000 }, (_, row) => [row, `${row}`]));
    const tables = { columns: { name: column, age: column }, split: { columns: ['a'], index: [0], data: [[1]] } };
    for (const [orient, table] of Object.entries(tables)) {
      const { error } = await read('t.json', JSON.stringify(table));
      expect(error).toContain(`as pandas writes it with orient="${orient}". Write it with orient="records"`);
      expect((await read('t.json', JSON.stringify(table), { listPath: '.' })).documents).toEqual([table]);
    }
    const byNumber = { users: { 0: { n: 1 }, 1: { n: 2 } }, items: { 0: { price: 3 } } };
    expect((await read('t.json', JSON.stringify(byNumber))).documents).toEqual([byNumber]);
    const named = { ...tables.split, _id: 'x' };
    expect((await read('t.json', JSON.stringify(named))).documents).toEqual([named]);
  });
});
