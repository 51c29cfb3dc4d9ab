import { basename, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/contract/json/json.ts';
import type { Engine, WriteOutcome } from '../../src/engine/engine.ts';
import { propertyRuns } from '../property.ts';
import { canonical, keyedDocument, nastyDocument, nastyValue } from './documents.ts';
import {
  createDocs,
  doc,
  openAfterCrash,
  openSmall,
  readBack,
  rowsOf,
  statusesOf,
  temporaryFolder,
} from './harness.ts';

const IDS = ['1', 'two', 'ü', '', "it's", 'nul\u0000'];

type Action =
  | { do: 'add'; documents: { id: string; fields: JsonObject }[] }
  | { do: 'delete'; ids: string[] }
  | { do: 'change'; entries: { id: string; fields: JsonObject | null }[] }
  /** Sets one field of each document, and declares that field. */
  | { do: 'set'; entries: { id: string; key: string; value: JsonValue }[] }
  | { do: 'reopen' }
  /** The process dies: a copy of the files at that moment is opened. */
  | { do: 'crash' };

type Write = Exclude<Action, { do: 'reopen' | 'crash' }>;

const id = fc.constantFrom(...IDS);
const document = fc.oneof(nastyDocument, keyedDocument);
const key = nastyDocument.map((document) => Object.keys(document)[0] ?? 'a');
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('add' as const),
      documents: fc.array(fc.record({ id, fields: document }), { maxLength: 5 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), ids: fc.array(id, { maxLength: 3 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('change' as const),
      entries: fc.array(fc.record({ id, fields: fc.option(document) }), { maxLength: 4 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('set' as const),
      entries: fc.array(fc.record({ id, key, value: nastyValue }), { maxLength: 4 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('reopen' as const, 'crash' as const) }) },
);

/** Plain assignment to `__proto__` would set the prototype. */
function withField(document: JsonObject, key: string, value: JsonValue): JsonObject {
  return Object.fromEntries([...Object.entries(document).filter(([other]) => other !== key), [key, value]]);
}

/** Applies a step to the model as the engine should; returns the statuses of the outcomes. */
function applyToModel(model: Map<string, JsonObject>, step: Write): string[] {
  if (step.do === 'delete') return step.ids.filter((one) => model.delete(one)).map(() => 'deleted');
  if (step.do === 'add') {
    return step.documents.map(({ id, fields }) => {
      const status = model.has(id) ? 'replaced' : 'added';
      model.set(id, fields);
      return status;
    });
  }
  if (step.do === 'set') {
    return step.entries.map(({ id, key, value }) => {
      const before = model.get(id);
      if (before !== undefined) model.set(id, withField(before, key, value));
      return before === undefined ? 'error' : 'changed';
    });
  }
  return step.entries.map(({ id, fields }) => {
    if (!model.has(id) || fields === null) return 'error';
    model.set(id, fields);
    return 'changed';
  });
}

async function applyToEngine(engine: Engine, step: Write): Promise<WriteOutcome[]> {
  if (step.do === 'delete') {
    const deleted = await engine.deleteDocuments('t', step.ids);
    return Array.from({ length: deleted }, () => ({ status: 'deleted' }));
  }
  if (step.do === 'add') {
    return engine.addDocuments(
      't',
      step.documents.map(({ id, fields }) => doc(id, fields)),
    );
  }
  if (step.do === 'set') {
    return engine.changeDocuments(
      't',
      step.entries.map((entry) => entry.id),
      (document, index) => {
        const entry = step.entries[index];
        return entry === undefined ? document : withField(document, entry.key, entry.value);
      },
      new Set(step.entries.map((entry) => entry.key)),
    );
  }
  return engine.changeDocuments(
    't',
    step.entries.map((entry) => entry.id),
    (_, index) => {
      const fields = step.entries[index]?.fields;
      if (fields == null) throw new Error('left as it was');
      return fields;
    },
  );
}

async function expectSame(engine: Engine, model: Map<string, JsonObject>): Promise<void> {
  const stored = await readBack(engine, 't', IDS);
  for (const [index, one] of IDS.entries()) {
    const expected = model.get(one);
    const actual = stored[index];
    expect(actual && canonical(actual)).toEqual(expected && canonical(expected));
  }
  expect(await rowsOf(engine, 'SELECT count(*), count(DISTINCT _id) FROM docs')).toEqual([[model.size, model.size]]);
  // All columns can be read through SQL, too.
  await engine.query({ sql: 'SELECT * FROM docs' });
}

test('writes in any order read back as written, also after close and open, and after a crash', {
  timeout: 900_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 12 }), async (steps) => {
      const { folder, dispose, ...start } = temporaryFolder();
      let file = start.file;
      let engine = await openSmall(file);
      try {
        await createDocs(engine);
        const model = new Map<string, JsonObject>();
        for (const [index, step] of steps.entries()) {
          if (step.do === 'reopen' || step.do === 'crash') {
            const copy = join(folder, String(index));
            const crashed = step.do === 'crash' ? await openAfterCrash(file, copy) : undefined;
            await engine.close();
            if (crashed !== undefined) file = join(copy, basename(file));
            engine = crashed ?? (await openSmall(file));
          } else {
            const expected = applyToModel(model, step);
            expect(statusesOf(await applyToEngine(engine, step))).toEqual(expected);
          }
          await expectSame(engine, model);
        }
        await engine.close();
        engine = await openSmall(file);
        await expectSame(engine, model);
      } finally {
        await engine.close();
        dispose();
      }
    }),
    propertyRuns(40),
  );
});
