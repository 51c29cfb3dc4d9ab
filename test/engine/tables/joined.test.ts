import { AsyncLocalStorage } from 'node:async_hooks';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/contract/json/json.ts';
import { createJoined } from '../../../src/engine/duckdb/tables/joined.ts';
import { createDocs, doc, openAfterCrash, openSmall, rowsOf, temporaryFolder, textOf } from '../harness.ts';

describe('writes that wait for the same table', () => {
  /** What was done, in order; a write of `bad` fails. */
  function recorder(together: (writes: readonly string[]) => string[] | undefined) {
    const done: string[] = [];
    let last: Promise<unknown> = Promise.resolve();
    const joined = createJoined<string, string>({
      hold: (table, work) => {
        if (table === 'gone') return Promise.reject(new Error('no table'));
        const mine = last.then(work);
        last = mine.catch(() => undefined);
        return mine;
      },
      alone: async (_, write) => {
        done.push(write);
        if (write === 'bad') throw new Error('bad');
        return `${write}!`;
      },
      together: async (_, writes) => {
        done.push(writes.join('+'));
        return together(writes);
      },
    });
    return { done, joined };
  }
  const all = (joined: { add(table: string, write: string): Promise<string> }, ...writes: string[]) =>
    Promise.all(writes.map((write) => joined.add('t', write).catch(String)));

  test('are done together, and one alone as ever', async () => {
    const { done, joined } = recorder((writes) => writes.map((write) => `${write}.`));
    expect(await all(joined, 'a', 'b', 'c')).toEqual(['a.', 'b.', 'c.']);
    expect(await all(joined, 'd')).toEqual(['d!']);
    expect(done).toEqual(['a+b+c', 'd']);
  });

  test.each([
    ['cannot', () => undefined],
    [
      'fail',
      () => {
        throw new Error('all');
      },
    ],
  ])('are done one by one if together they %s: one takes none of the others along', async (_, together) => {
    const { done, joined } = recorder(together);
    expect(await all(joined, 'a', 'bad', 'c')).toEqual(['a!', 'Error: bad', 'c!']);
    expect(done).toEqual(['a+bad+c', 'a', 'bad', 'c']);
  });

  test('fail with a table that is gone, and are not done later', async () => {
    const { done, joined } = recorder(() => undefined);
    const told = await Promise.all(['a', 'b'].map((write) => joined.add('gone', write).catch(String)));
    expect(told).toEqual(['Error: no table', 'Error: no table']);
    expect(done).toEqual([]);
  });

  test('that come while the table is waited for in vain are not failed by that', async () => {
    let waits = 0;
    const joined = createJoined<string, string>({
      hold: async (_, work) => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        waits += 1;
        if (waits === 1) throw new Error('lost');
        return await work();
      },
      alone: async (_, write) => `${write}!`,
      together: async (_, writes) => writes.map((write) => `${write}.`),
    });
    const first = joined.add('t', 'a').catch(String);
    const later = ['b', 'c'].map((write) => joined.add('t', write).catch(String));
    expect(await Promise.all([first, ...later])).toEqual(['Error: lost', 'b.', 'c.']);
    expect(waits).toBe(2);
  });

  test('are done as work of the request of the first of them', async () => {
    const current = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    let free = Promise.resolve();
    const joined = createJoined<string, string>({
      hold: (_, work) => {
        const mine = free.then(work);
        free = mine.then(() => undefined);
        return mine;
      },
      alone: async (_, write) => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        seen.push(current.getStore());
        return write;
      },
      together: async (_, writes) => {
        seen.push(current.getStore());
        return [...writes];
      },
    });
    const add = (write: string) => current.run(write, () => joined.add('t', write));
    const a = add('a');
    await Promise.resolve();
    await Promise.all([a, add('b'), add('c')]);
    expect(seen).toEqual(['a', 'b']);
  });

  test('are at most so many at once', async () => {
    const { done, joined } = recorder((writes) => [...writes]);
    await all(joined, ...Array.from({ length: 150 }, (_, n) => String(n)));
    expect(done.map((one) => one.split('+').length)).toEqual([64, 64, 22]);
  });
});

describe('requests of few documents', () => {
  const home = temporaryFolder();

  test('at once, are each answered for themselves, and are all there after a crash', async () => {
    const engine = await openSmall(home.file);
    await createDocs(engine);
    const add = async (...documents: JsonObject[]): Promise<{ id: string; status: string }[]> => {
      const known = documents.map(({ _id, ...fields }) => doc(String(_id), fields));
      // Without shortcuts no text is taken as it is.
      const added = (await engine.addText('t', textOf(documents))) ?? (await engine.addDocuments('t', known));
      return added.map(({ status }, index) => ({ id: known[index]?.id ?? '', status }));
    };
    await add({ _id: 'old', n: 0, s: 'x' }, { _id: 'other', n: 0, s: 'x' });
    const answers = await Promise.all([
      ...Array.from({ length: 80 }, (_, n) => add({ _id: `d${n}`, n, s: `s${n}` })),
      add({ _id: 'old', n: 1, s: 'new' }, { _id: 'd200', n: 200 }),
      // Two with one id, and one that brings a new field.
      add({ _id: 'd0', n: -1, s: 'later' }),
      add({ _id: 'wide', n: 1, more: true }),
    ]);
    const statuses = answers.flatMap((answer) => answer.map(({ id, status }) => [id, status]));
    expect(statuses).toHaveLength(84);
    expect(statuses.filter(([, status]) => status === 'replaced').map(([id]) => id)).toEqual(['old', 'd0']);
    const patches = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        engine.changeDocuments(
          't',
          [n % 2 === 0 ? 'd5' : `d${n}`, n === 7 ? 'missing' : 'old'],
          (document, index) => {
            if (n === 9) throw new Error('not this one');
            return { ...document, n: Number(document['n']) + (index === 0 ? 1 : 1_000) };
          },
          new Set(['n']),
        ),
      ),
    );
    const failed = patches.flatMap((outcomes, n) => outcomes.flatMap(({ status }) => (status === 'error' ? [n] : [])));
    expect(failed).toEqual([7, 9, 9]);
    const copies = temporaryFolder();
    const copy = await openAfterCrash(home.file, dirname(copies.file));
    for (const one of [engine, copy]) {
      expect(await rowsOf(one, 'SELECT count(*), count(more) FROM docs')).toEqual([[84, 1]]);
      expect(
        await rowsOf(one, "SELECT _id, n, s FROM docs WHERE _id IN ('d0', 'd11', 'd5', 'old') ORDER BY 1"),
      ).toEqual([
        ['d0', -1, 'later'],
        ['d11', 12, 's11'],
        ['d5', 35 + 1, 's5'],
        ['old', 58_001, 'new'],
      ]);
      await one.close();
    }
    home.dispose();
    copies.dispose();
  });
});
