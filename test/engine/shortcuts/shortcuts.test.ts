import { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openEngine } from '../../../src/engine/duckdb/open.ts';
import type { ShortcutName } from '../../../src/engine/duckdb/shortcuts/shortcuts.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { createDocs, doc, rowsOf, temporaryFolder, textOf } from '../harness.ts';

const home = temporaryFolder();
/** What the engine was asked since the last look. */
let texts: string[] = [];
let parsed = 0;

beforeEach(() => {
  const { prototype } = DuckDBConnection;
  for (const method of ['run', 'runAndReadAll', 'prepare'] as const) {
    const own = prototype[method] as (this: DuckDBConnection, sql: string, ...rest: unknown[]) => Promise<never>;
    vi.spyOn(prototype, method).mockImplementation(function (this: DuckDBConnection, sql: string, ...rest: unknown[]) {
      texts.push(sql);
      return own.call(this, sql, ...rest);
    });
  }
  const own = DuckDBPreparedStatement.prototype.bindVarchar;
  vi.spyOn(DuckDBPreparedStatement.prototype, 'bindVarchar').mockImplementation(function (
    this: DuckDBPreparedStatement,
    ...args
  ) {
    parsed += 1;
    return own.apply(this, args);
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(() => home.dispose());

const addOne = async (engine: Engine, id: string) => {
  await engine.addDocuments('t', [doc(id, { n: 1 })]);
};

/** Whether each can be seen at work. */
const IS_USED: Record<ShortcutName, (engine: Engine) => Promise<boolean>> = {
  async knownStatements(engine) {
    await rowsOf(engine, 'SELECT count(*) FROM docs');
    parsed = 0;
    await rowsOf(engine, 'SELECT count(*) FROM docs');
    return parsed === 0;
  },
  async lookups(engine) {
    texts = [];
    await rowsOf(engine, "SELECT n FROM docs WHERE _id = 'a'");
    return texts.some((sql) => sql.startsWith('SELECT n FROM (') && sql.includes('md5'));
  },
  async knownIds(engine) {
    texts = [];
    await addOne(engine, 'x');
    return !texts.some((sql) => sql.startsWith('SELECT "_id"'));
  },
  unparsed: async (engine) => (await engine.addText('t', textOf([{ _id: 'text', n: 1 }]))) !== undefined,
  async columnUpdates(engine) {
    texts = [];
    await engine.changeDocuments('t', ['a'], (document) => ({ ...document, n: 2 }), new Set(['n']));
    return texts.some((sql) => /^UPDATE /.test(sql));
  },
};
const NAMES = Object.keys(IS_USED) as ShortcutName[];

describe.each(NAMES)('%s', (name) => {
  test.each([
    ['is used', []],
    ['does nothing while it is switched off', [name]],
  ])('%s', async (_, shortcutsOff: readonly ShortcutName[]) => {
    const engine = await openEngine({
      file: `${home.file}-${name}-${shortcutsOff.length}`,
      shortcutsOff,
      limits: { lookupRowsMin: 1, threads: 1 },
    });
    try {
      await createDocs(engine);
      await addOne(engine, 'a');
      expect(await IS_USED[name](engine)).toBe(shortcutsOff.length === 0);
    } finally {
      await engine.close();
    }
  });
});
