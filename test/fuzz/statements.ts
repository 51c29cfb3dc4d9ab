import { pick, type Random } from '../crash/load.ts';
import type { Catalogue, Signature } from './catalogue.ts';
import type { Statement } from './run.ts';
import { TEMPLATES } from './templates.ts';
import { anyValue, one, TYPES } from './values.ts';

/** A statement, and the allowed functions that it calls. */
export interface Made extends Statement {
  calls: readonly string[];
}

/** An expression, and the allowed functions in it. */
interface Call {
  sql: string;
  calls: readonly string[];
}

const MORE_MAX = 4;
const WRONG_COUNT_SHARE = 0.02;
const NESTED_SHARE = 0.2;
const PARAMETER_VALUES = [
  ...[0, -1, 1, 2 ** 31, Number.MAX_SAFE_INTEGER, -0.5, 1e308, true, null, '', 'abc', '%_%', '2024-02-29', '$.a'],
  ...['x'.repeat(300_000), '[1,2]', [1, 2, 3], [], ['a', null], { a: 1 }, Array.from({ length: 3_000 }, (_, n) => n)],
];

function typesOf(random: Random, { parameters, more }: Signature): (string | null)[] {
  const extra = more === null ? 0 : 1 + pick(random, MORE_MAX);
  const types = [...parameters, ...Array.from({ length: extra }, () => more)];
  if (random() >= WRONG_COUNT_SHARE) return types;
  return random() < 0.5 ? types.slice(1) : [...types, null];
}

/** A call with these arguments as one writes it: operators stand between them. */
export function written(name: string, given: readonly string[]): string {
  if (name === '!__postfix') return `(${given[0]} !)`;
  if (!/^[^a-z_]+$/i.test(name)) return `${name}(${given.join(', ')})`;
  if (given.length === 1) return `(${name} ${given[0]})`;
  const word = { '~~': 'LIKE', '!~~': 'NOT LIKE', '~~*': 'ILIKE', '!~~*': 'NOT ILIKE', '~~~': 'GLOB' }[name] ?? name;
  return `(${given.join(` ${word} `)})`;
}

/** Makes a statement from random numbers: the same numbers make the same statement. */
export function createMaker({ signatures, examples }: Catalogue) {
  const by = (kind: Signature['kind']) => signatures.filter((signature) => signature.kind === kind);
  const kinds = { scalar: by('scalar'), aggregate: by('aggregate'), window: by('window'), table: by('table') };
  /** Functions with many overloads must not crowd out the others. */
  const grouped = (list: readonly Signature[]) =>
    [...new Set(list.map(({ name }) => name))].map((name) => list.filter((signature) => signature.name === name));
  const groups = {
    scalar: grouped(kinds.scalar),
    aggregate: grouped(kinds.aggregate),
    window: grouped(kinds.window),
    table: grouped(kinds.table),
  };
  const anyOf = (random: Random, kind: Signature['kind']) => one(random, one(random, groups[kind]));

  const argument = (random: Random, type: string | null, depth: number): Call => {
    const makes = depth > 0 && random() < NESTED_SHARE ? kinds.scalar.filter(({ returns }) => returns === type) : [];
    return makes.length === 0
      ? { sql: anyValue(random, type), calls: [] }
      : call(random, one(random, makes), depth - 1);
  };

  const call = (random: Random, signature: Signature, depth = 2): Call => {
    const given = typesOf(random, signature).map((type) => argument(random, type, depth));
    const sql = written(
      signature.name,
      given.map((each) => each.sql),
    );
    return { sql, calls: [signature.name, ...given.flatMap(({ calls }) => calls)] };
  };

  const scalar = (random: Random): Made => {
    const { sql, calls } = call(random, anyOf(random, 'scalar'));
    return { sql: `SELECT ${sql}`, calls };
  };

  /** Arguments from the columns of a few rows, which are repeated. */
  const overRows = (random: Random, kind: 'scalar' | 'aggregate' | 'window', use: (sql: string) => string): Made => {
    const signature = anyOf(random, kind);
    const types = typesOf(random, signature);
    // Engines want some arguments constant.
    const isConstant = types.map((type, at) => type === 'LAMBDA' || (at > 0 && random() < 0.5));
    const columns = types.map((type, at) => (isConstant[at] ? anyValue(random, type) : `a${at}`));
    const rows = [0, 1, 2].map(() =>
      types.map((type, at) => (isConstant[at] ? '0' : anyValue(random, type))).join(', '),
    );
    const names = types.map((_, at) => `a${at}`).join(', ');
    const count = one(random, ['1', '10', '1000', '3000']);
    const values =
      types.length === 0 ? 'range(3) t' : `(VALUES ${rows.map((row) => `(${row})`).join(', ')}) t(${names})`;
    return {
      sql: `${use(written(signature.name, columns))} FROM ${values}, range(${count}) r(i)`,
      calls: [signature.name],
    };
  };

  const aggregate = (random: Random): Made => {
    const filter = random() < 0.15 ? ' FILTER (WHERE i % 2 = 0)' : '';
    const over = random() < 0.25 ? ` OVER (${windowOf(random)})` : '';
    const use = random() < 0.3 && over === '' ? 'i % 50 AS g, ' : '';
    const { sql, calls } = overRows(random, 'aggregate', (text) => {
      const inner = random() < 0.15 && text.endsWith(')') ? `${text.slice(0, -1)} ORDER BY i DESC)` : text;
      return `SELECT ${use}${random() < 0.1 ? inner.replace('(', '(DISTINCT ') : inner}${filter}${over}`;
    });
    return { sql: use === '' ? sql : `${sql} GROUP BY g`, calls };
  };

  const windowed = (random: Random): Made =>
    overRows(random, 'window', (text) => {
      const isIgnoring = random() < 0.2 && text.endsWith(')');
      return `SELECT ${isIgnoring ? `${text.slice(0, -1)} IGNORE NULLS)` : text} OVER (${windowOf(random)})`;
    });

  const table = (random: Random): Made => {
    const { sql, calls } = call(random, anyOf(random, 'table'), 1);
    const lateral = random() < 0.3 ? 'fuzz.small, ' : '';
    return { sql: `SELECT count(*) FROM (SELECT * FROM ${lateral}${sql} LIMIT 100000)`, calls };
  };

  const parameters = (random: Random): Made => {
    const signature = anyOf(random, 'scalar');
    const types = typesOf(random, signature);
    const at = pick(random, Math.max(1, types.length));
    const given = types.map((type, index) => (index === at ? ':p' : anyValue(random, type, 0)));
    const from = random() < 0.4 ? ' FROM fuzz.docs' : '';
    const value = one(random, PARAMETER_VALUES);
    return {
      sql: `SELECT ${written(signature.name, given)}${from}`,
      parameters: types.length === 0 ? [] : [{ name: 'p', value }],
      calls: [signature.name],
    };
  };

  const overDocuments = (random: Random): Made => {
    const signature = anyOf(random, random() < 0.7 ? 'scalar' : 'aggregate');
    const given = typesOf(random, signature).map((type) => {
      if (random() < 0.4) return anyValue(random, type);
      if (type === 'LAMBDA') return anyValue(random, type);
      return COLUMNS.get(type ?? '') ?? one(random, [...COLUMNS.values()]);
    });
    return { sql: `SELECT ${written(signature.name, given)} FROM fuzz.docs`, calls: [signature.name] };
  };

  const cast = (random: Random): Made => {
    const types = [
      'BIGINT',
      'DOUBLE',
      'VARCHAR',
      'TIMESTAMP',
      'INTERVAL',
      'BLOB',
      'BIT',
      'ANY[]',
      'JSON',
      'STRUCT',
      'MAP(K, V)',
    ];
    const value = anyValue(random, one(random, [...types, null]));
    const to = one(random, TYPES);
    const again = one(random, TYPES);
    const sql = `SELECT ${random() < 0.5 ? `TRY_CAST(${value} AS ${to})` : `(${value})::${to}::${again}`}`;
    return { sql: random() < 0.3 ? `${sql} FROM range(3000)` : sql, calls: [] };
  };

  const template = (random: Random): Made => {
    const sql = one(random, TEMPLATES).replace(/\$(\w+)/g, (_, type: string) =>
      anyValue(random, type === 'any' ? null : type),
    );
    return { sql, calls: [] };
  };

  /** A call that is known to run, with one of its literals replaced. */
  const mutant = (random: Random): Made => {
    const { name, sql, kind } = one(random, examples);
    const literals = [...sql.matchAll(/'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b/g)];
    const literal = literals.length === 0 ? undefined : one(random, literals);
    const at = literal?.index ?? 0;
    const by_ = anyValue(random, literal?.[0].startsWith("'") ? 'VARCHAR' : 'BIGINT');
    const text = literal === undefined ? sql : `${sql.slice(0, at)}${by_}${sql.slice(at + literal[0].length)}`;
    return { sql: statementOf(text, kind), calls: [name] };
  };

  const makers: readonly (readonly [number, (random: Random) => Made])[] = [
    [24, scalar],
    [16, (random) => overRows(random, 'scalar', (text) => `SELECT ${text}`)],
    [16, aggregate],
    [12, windowed],
    [5, table],
    [6, parameters],
    [8, overDocuments],
    [5, cast],
    [6, template],
    [6, mutant],
  ];
  const total = makers.reduce((sum, [weight]) => sum + weight, 0);
  return {
    make(random: Random): Made {
      let left = random() * total;
      for (const [weight, maker] of makers) {
        left -= weight;
        if (left < 0) return maker(random);
      }
      return scalar(random);
    },
    /** Plain calls by each signature, and the examples: what should succeed at least once. */
    plain(random: Random): Made[] {
      const own = signatures.map((signature) => {
        const given = typesOf(() => 0.99, signature).map((type) => anyValue(random, type, 0));
        const text = written(signature.name, given);
        const over = signature.kind === 'window' ? ' OVER (ORDER BY i)' : '';
        const sql = signature.kind === 'table' ? `FROM ${text} LIMIT 10` : `SELECT ${text}${over} FROM range(3) t(i)`;
        return { sql, calls: [signature.name] };
      });
      return [...examples.map(({ name, sql, kind }) => ({ sql: statementOf(sql, kind), calls: [name] })), ...own];
    },
  };
}

function statementOf(example: string, kind: 'scalar' | 'rows'): string {
  if (/^(?:SELECT|FROM|WITH)\b/.test(example)) return example;
  return `SELECT ${example}${kind === 'rows' ? " FROM (VALUES (1, 'a'), (2, 'b'), (3, 'b')) t(n, s)" : ''}`;
}

/** Columns of the documents in `child.ts`, by the catalogue's names of types. */
const COLUMNS: ReadonlyMap<string, string> = new Map([
  ['BIGINT', 'n'],
  ['DOUBLE', 'd'],
  ['VARCHAR', 't'],
  ['ANY[]', 'l'],
  ['STRUCT', 'o'],
  ['JSON', 'j'],
  ['TIMESTAMP WITH TIME ZONE', '_event_time'],
  ['TIMESTAMP', '_event_time::TIMESTAMP'],
  ['DATE', '_event_time::DATE'],
]);

const BOUNDS = [
  'UNBOUNDED',
  '0',
  '1',
  '3',
  '9223372036854775807',
  'i',
  '-1',
  'NULL',
  '2147483648',
  'INTERVAL 1 DAY',
  "'inf'::DOUBLE",
];

function windowOf(random: Random): string {
  const partition = random() < 0.3 ? 'PARTITION BY i % 7 ' : '';
  const order = one(random, ['', 'ORDER BY i', 'ORDER BY i DESC', 'ORDER BY i::DOUBLE', 'ORDER BY i % 3, i']);
  const frame = one(random, ['', '', 'ROWS', 'RANGE', 'GROUPS']);
  if (frame === '') return `${partition}${order}`;
  const edge = () =>
    random() < 0.2 ? 'CURRENT ROW' : `${one(random, BOUNDS)} ${one(random, ['PRECEDING', 'FOLLOWING'])}`;
  const exclude = one(random, ['', ' EXCLUDE CURRENT ROW', ' EXCLUDE GROUP', ' EXCLUDE TIES']);
  return `${partition}${order} ${frame} BETWEEN ${edge()} AND ${edge()}${exclude}`;
}
