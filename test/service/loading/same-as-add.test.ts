import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, stringifyJson } from '../../../src/contract/json/json.ts';
import { exactText } from '../../../src/engine/duckdb/values/exact-text.ts';
import { keyedDocument, nastyDocument } from '../../engine/documents.ts';
import { MORE } from '../../long.ts';
import { propertyRuns } from '../../property.ts';
import { type LoadBench, startBench } from './load-bench.ts';

let bench: LoadBench;
const started = new Date().toISOString();

beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.remove());

/** The answer of a write. */
interface Added {
  data: { _id: string | null; status: string; error: { message: string } | null }[];
  warnings?: string[];
}

/** What became of documents that were written in several steps. */
interface Outcome {
  state: string;
  counts: Record<string, number>[];
  refused: string[];
  warnings: string[][];
}

async function stateOf(name: string): Promise<string> {
  const text = stringifyJson(await bench.stateOf(name)).replaceAll(name, 'NAME');
  return text.replace(/"_event_time":"([^"]+)"/g, (whole, time) => (time >= started ? '"_event_time":"now"' : whole));
}

async function byAdding(steps: readonly (readonly string[])[], settings: object): Promise<Outcome> {
  const name = await bench.create(settings);
  const outcome: Outcome = { state: '', counts: [], refused: [], warnings: [] };
  for (const texts of steps) {
    if (texts.length === 0) continue;
    const { status, text, body } = await bench.add(name, ...texts);
    if (status !== 200) throw new Error(text);
    const { data, warnings = [] } = body as Added;
    const has = (wanted: string) => data.filter((row) => row.status === wanted).length;
    outcome.counts.push({
      entries: data.length,
      added: has('ADDED'),
      replaced: has('REPLACED'),
      refused: has('ERROR'),
    });
    const refused = data.filter((row) => row.status === 'ERROR');
    outcome.refused.push(...refused.map(({ _id, error }) => `${_id}: ${error?.message}`.replaceAll(name, 'NAME')));
    outcome.warnings.push(warnings.map((one) => one.replaceAll(name, 'NAME')));
  }
  outcome.state = await stateOf(name);
  return outcome;
}

interface Way {
  /** What stands before, between and behind the documents. */
  join: readonly [string, string, string];
  size: number;
}

const WAYS: Record<string, Way> = {
  lines: { join: ['', '\n', '\n'], size: 64 * 1024 },
  'a list': { join: ['[', ',', ']'], size: 64 * 1024 },
  'a list over many lines in small chunks': { join: ['\ufeff [\n', ' ,\r\n', '\n]\n'], size: 11 },
};

async function byLoading(steps: readonly (readonly string[])[], settings: object, way: Way): Promise<Outcome> {
  const name = await bench.create(settings);
  const outcome: Outcome = { state: '', counts: [], refused: [], warnings: [] };
  const [before, between, behind] = way.join;
  for (const texts of steps) {
    if (texts.length === 0) continue;
    const body = `${before}${texts.join(between)}${behind}`;
    const done = await bench.load(name, body, { on_error: 'skip', size: way.size });
    const { entries, added, replaced, refused_count: refused, warnings } = done;
    expect(done.stopped).toBeNull();
    outcome.counts.push({ entries, added, replaced, refused });
    outcome.refused.push(...done.refused.map(({ _id, error }) => `${_id}: ${error}`.replaceAll(name, 'NAME')));
    // The answer to documents that are added says of each whether it replaced one.
    const told = warnings.filter((one) => !one.includes('is not unique'));
    outcome.warnings.push(told.map((one) => one.replaceAll(name, 'NAME')));
  }
  outcome.state = await stateOf(name);
  return outcome;
}

/** Asserts that a collection is the same however the documents, as JSON, come into it, step after step. */
async function expectSame(
  steps: readonly (readonly string[])[],
  settings: object = {},
  ways = Object.keys(WAYS),
): Promise<Outcome> {
  const added = await byAdding(steps, settings);
  for (const [what, way] of Object.entries(WAYS).filter(([one]) => ways.includes(one))) {
    expect({ what, ...(await byLoading(steps, settings, way)) }).toEqual({ what, ...added });
  }
  return added;
}

const nested = (levels: number, open = '{"k":', close = '}') => `${open.repeat(levels)}1${close.repeat(levels)}`;
const AT = '"_event_time":"2024-05-06T07:08:09Z"';
const some = (count: number, textOf: (n: number) => string) => Array.from({ length: count }, (_, n) => textOf(n));
/** Documents of one shape first, so that those behind them may go in as they are. */
const known = some(20, (n) => `{"_id":"k${n}",${AT},"n":${n},"d":${n}.5,"s":"x","o":{"p":${n},"q":["a"]}}`);

const HOSTILE: Record<string, readonly string[]> = {
  'fields that differ in case': [
    `{"_id":"1",${AT},"Name":"a","name":"b","NAME":{"é":1,"É":2}}`,
    `{"_id":"2",${AT},"name":"c"}`,
    `{"_id":"3",${AT},"o":{"P":"x","p":1}}`,
  ],
  'mixed types': [
    ...some(30, (n) => `{"_id":"m${n}",${AT},"v":${n % 10 === 0 ? '"text"' : n},"w":${n % 10 === 0 ? '[1]' : '1.5'}}`),
    ...some(10, (n) => `{"_id":"s${n}",${AT},"n":${['"x"', 'true', '{"a":1}', '[1]', '0.5'][n % 5]},"s":${n},"o":5}`),
  ],
  maps: [
    ...some(40, (n) => `{"_id":"a${n}",${AT},"m":{${some(30, (k) => `"key${n * 7 + k}":${k}`).join()}}}`),
    `{"_id":"b",${AT},"m":{"key1":"text","__proto__":2}}`,
    `{"_id":"c",${AT},"m":5}`,
  ],
  times: some(
    12,
    (n) =>
      `{"_id":"t${n}",${AT},"at":"2024-01-0${(n % 9) + 1}T00:00:00Z","on":"2024-01-02","odd":"${n % 4 === 0 ? 'x' : '2024-01-01T10:00:00+02:00'}"}`,
  ),
  'an _id twice': [
    `{"_id":"x",${AT},"n":1}`,
    `{"_id":"y",${AT},"n":2}`,
    `{"_id":"x","n":3,"s":"last"}`,
    `{"_id":"k1",${AT},"n":99}`,
  ],
  'large numbers': [
    `{"_id":"1",${AT},"n":9007199254740993,"d":123456789012345678901234567890,"s":-0,"z":-0.0}`,
    `{"_id":"2",${AT},"n":9223372036854775807,"d":1e15,"z":1E+2}`,
    `{"_id":"3",${AT},"n":9223372036854775808,"d":0.1234567890123456789}`,
    `{"_id":"4",${AT},"n":1.0,"d":1e400}`,
    `{"_id":"5",${AT},"n":1e2,"d":-1e400,"e":5e-324}`,
  ],
  'text that is none': [
    `{"_id":"1",${AT},"s":"\\ud800"}`,
    `{"_id":"\\udfff",${AT},"s":"x"}`,
    `{"_id":"2",${AT},"\\ud800":"x"}`,
    `{"_id":"3",${AT},"s":"nul\\u0000 \\ud83d\\ude00 \\u001e"}`,
  ],
  'odd keys': [
    `{"_id":"1",${AT},"a.b":1,"a":{"b":2},"c/d":3,"__proto__":{"x":1},"":4,"o":{"":5,"__proto__":6,"p.q":7}}`,
    `{"_id":"2",${AT},"constructor":1,"toString":"x","quo\\"te":1,"nul\\u0000":1,"_extra":1,"_strays":2,"rowid":3}`,
    `{"_id":"3",${AT},"n":1,"n":2,"o":{"p":1,"p":2}}`,
    `{"_id":"4","_id":"5",${AT}}`,
  ],
  nulls: [
    `{"_id":"1",${AT},"n":null,"o":null,"new":null}`,
    `{"_id":"2",${AT},"o":{"p":null,"q":[null,"x",null]},"l":[null],"e":[],"f":{}}`,
    `{"_id":"3",${AT},"l":[[null],[]],"e":[{}],"f":{"g":{}}}`,
    `{"_id":null,"_event_time":null,"n":"no id"}`.replace('null', '"4"'),
  ],
  'event times': [
    `{"_id":"1","_event_time":"2024-01-01T00:00:00.123456789Z"}`,
    `{"_id":"2","_event_time":1700000000000000}`,
    `{"_id":"3","_event_time":1700000000}`,
    `{"_id":"4","_event_time":1.5}`,
    `{"_id":"5","_event_time":"yesterday"}`,
    `{"_id":"6","_event_time":{}}`,
    `{"_id":"7","n":1}`,
    `{"_id":"8","_event_time":"2024-01-01 10:00:00+02:00"}`,
    `{"_id":"9","_event_time":17000000000000000000}`,
  ],
  ids: [
    `{"_id":"",${AT}}`,
    `{"_id":5,${AT}}`,
    `{"_id":{},${AT}}`,
    `{"_id":true,${AT}}`,
    `{"_id":"${'x'.repeat(3_000)}",${AT}}`,
    `{"_id":"é 😀 \\u00e9",${AT}}`,
  ],
  _meta: [`{"_id":"1",${AT},"_meta":{"a":1}}`, `{"_id":"2",${AT},"_meta":5,"_Meta":6}`],
  nesting: [
    `{"_id":"1",${AT},"deep":${nested(150)}}`,
    `{"_id":"2",${AT},"deep":${nested(250)}}`,
    `{"_id":"3",${AT},"deep":${nested(250, '[', ']')},"o":${nested(150)}}`,
    `{"_id":"4",${AT},"deep":${nested(1_200)}}`,
  ],
  'what is no document': ['5', `{"_id":"1",${AT},"n":1}`, '"x"', 'null', '[1]'],
};

describe('a load has the outcome of addDocuments', () => {
  it.each(Object.entries(HOSTILE))('with %s', async (what, texts) => {
    if (what === 'what is no document') {
      // These are named by line, not by place in a request.
      const name = await bench.create();
      const { counts } = await byAdding([texts], {});
      const {
        entries,
        added,
        refused_count: refused,
        replaced,
      } = await bench.load(name, `[${texts.join()}]`, { on_error: 'skip' });
      expect([{ entries, added, replaced, refused }]).toEqual(counts);
      return;
    }
    await expectSame([texts]);
    await expectSame([known, texts, texts.slice(0, 2)]);
  });

  it('with all of these in one', async () => {
    const all = Object.entries(HOSTILE).flatMap(([what, texts], at) =>
      what === 'what is no document' ? [] : texts.map((text) => text.replace('"_id":"', `"_id":"${at} `)),
    );
    const { counts, refused, warnings } = await expectSame([known, all, all.toReversed()]);
    expect(counts[1]?.['added']).toBeGreaterThan(100);
    expect(refused.length).toBeGreaterThan(10);
    expect(warnings.flat().length).toBeGreaterThan(3);
  });

  it('in a collection with field mappings', async () => {
    const mapped = {
      name: 'm',
      input_fields: [{ field_name: 'n', if_missing: 'PASS', is_drop: true }],
      output_field: { field_name: 'doubled', value: 'CAST(:n AS int) * 2', on_error: 'SKIP' },
    };
    const refusing = {
      name: 'r',
      input_fields: [{ field_name: 's', if_missing: 'PASS' }],
      output_field: { field_name: 'sure', value: 'CAST(:s AS int)', on_error: 'FAIL' },
    };
    for (const what of ['mixed types', 'large numbers', 'an _id twice', 'nulls', 'odd keys']) {
      await expectSame([known, HOSTILE[what] ?? []], { field_mappings: [mapped] });
    }
    const { refused } = await expectSame([known, HOSTILE['mixed types'] ?? []], { field_mappings: [mapped, refusing] });
    expect(refused.length).toBeGreaterThan(0);
  });

  it('in a collection that reads event times from a field', async () => {
    const settings = { event_time_info: { field: 'o.at', format: 'seconds_since_epoch' } };
    const texts = ['1700000000', '"1700000001"', '"no"', 'null', '1.25', '{}'].map(
      (at, n) => `{"_id":"${n}","_event_time":"2020-01-01T00:00:00Z","o":{"at":${at}}}`,
    );
    const more = (HOSTILE['event times'] ?? []).map((text) => text.replace('"_id":"', '"_id":"own '));
    const { state } = await expectSame([texts, more], settings);
    expect(state).toContain('2023-11-14T22:13:21');
  });

  it('in a collection with a retention, with what is told of documents that are too old', async () => {
    const old = some(30, (n) => `{"_id":"o${n}","_event_time":"200${n % 10}-01-01T00:00:00Z","n":${n}}`);
    const fresh = some(5, (n) => `{"_id":"f${n}","n":${n}}`);
    const { warnings } = await expectSame([[...old, ...fresh], old, fresh], { retention_secs: 3_600 });
    expect(warnings.flat().join()).toContain('30');
  });

  it('in a collection that recognizes times', async () => {
    await expectSame([HOSTILE['times'] ?? [], known, HOSTILE['mixed types'] ?? []], { recognize_times: true });
  });

  it('with any documents, in any steps', { ...MORE, timeout: 120_000 }, async () => {
    const eventTime = fc.constantFrom(
      {},
      { _event_time: '2024-05-06T07:08:09Z' },
      { _event_time: 1_700_000_000_000_000 },
      { _event_time: 'no time' },
      { _event_time: null },
    );
    const document = fc
      .tuple(fc.oneof(nastyDocument, keyedDocument), fc.nat({ max: 30 }), eventTime)
      .map(([fields, id, time]): string => exactText({ ...fields, ...time, _id: `d${id}` } as JsonObject));
    const steps = fc.array(fc.array(document, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(steps, fc.constantFrom(...Object.keys(WAYS)), async (given, way) => {
        await expectSame(given, {}, [way]);
      }),
      propertyRuns(60, 10),
    );
  });
});
