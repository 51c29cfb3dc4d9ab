import type { Origin } from '../../gate/field-origins.ts';
import type { JoinedKeys } from '../../gate/joined-keys.ts';
import { isEmpty } from './alike.ts';
import type { Look } from './look.ts';
import { type Data, fieldSql, ROWS_MAX, rowsOf, SOUGHT_ROWS } from './samples.ts';

/*
 * Joins by texts that differ in their letter case, in spaces around them, in zeros before them or in punctuation, and so find
 * less than is meant.
 */

/** Values of which is asked how many the other side has. */
const KEYS_MAX = 500;
const KEYS_MIN = 2;
/** The share that a join finds of the values at most, and that it finds in another way at least. */
const FEW = 0.5;
const NEARLY_ALL = 0.8;

/** Ways to compare two texts, the plain ones first. */
const WAYS: readonly ((x: string) => string)[] = [
  (x) => `trim(${x})`,
  (x) => `lower(${x})`,
  (x) => `ltrim(${x}, '0')`,
  (x) => `lower(trim(${x}))`,
  (x) => `ltrim(trim(${x}), '0')`,
  (x) => `ltrim(lower(trim(${x})), '0')`,
  (x) => `regexp_replace(lower(${x}), '[^\\pL\\pN]', '', 'g')`,
];

/** Of what is text it is the text. */
const AS_TEXT = 'CAST(v AS VARCHAR)';

const plain = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
    .replace(/^0+/, '');

export const keys: Look = ({ joinedKeys }, { rows, data }) =>
  joinedKeys.map((pair) => ({
    kind: 'alike',
    samples: [pair.one, pair.other].map((field) => ({ field: { ...field, of: AS_TEXT }, types: [] })),
    async said([ones = [], others = []]) {
      const there = new Set(others.map(({ text }) => text));
      const alike = new Set(others.map(({ text }) => plain(text)));
      // Keys that are spelled alike on both sides, as nearly all are, cost no more than this.
      const isNone = isEmpty(rows) && !ones.some(({ text }) => there.has(text));
      if (!isNone && !ones.some(({ text }) => !there.has(text) && alike.has(plain(text)))) return undefined;
      return (await saidOf(pair, pair.one, pair.other, data)) ?? saidOf(pair, pair.other, pair.one, data);
    },
  }));

/** What to say of the values of a field that the other side of a join has. */
async function saidOf(pair: JoinedKeys, of: Origin, beside: Origin, data: Data): Promise<string | undefined> {
  const values = (field: Origin, documents: number) =>
    `SELECT DISTINCT ${AS_TEXT} AS v FROM (${fieldSql(field.path, data.viewOf(field.table), documents)}) WHERE v IS NOT NULL`;
  const found = ['v', ...WAYS.map((way) => way('v'))].map(
    (v) => `count(*) FILTER (WHERE ${v} IN (SELECT ${v} FROM r WHERE v IS NOT NULL))`,
  );
  const both = `WITH l AS MATERIALIZED (${values(of, ROWS_MAX)} LIMIT ${KEYS_MAX}), r AS MATERIALIZED (${values(beside, SOUGHT_ROWS)})`;
  const [counts = []] = await rowsOf(data.connection, `${both} SELECT count(*), ${found.join(', ')} FROM l`);
  const [all = 0, same = 0, ...more] = counts.map(Number);
  const most = Math.max(...more);
  const at = more.indexOf(most);
  const way = WAYS[at];
  if (way === undefined || most < KEYS_MIN || most < all * NEARLY_ALL || most <= same) return undefined;
  const isLoose = at === WAYS.length - 1;
  if (same >= all * FEW || isLoose) {
    // Keys that would be the same then may be others.
    const isOne = ['r', ...(isLoose ? ['l'] : [])].map(
      (side) => `(SELECT count(*) = count(DISTINCT ${way('v')}) FROM ${side})`,
    );
    const [[areApart] = []] = await rowsOf(data.connection, `${both} SELECT ${isOne.join(' AND ')}`);
    if (areApart !== true) return undefined;
  }
  return `${FORMS[pair.by](pair, (x) => x)} finds ${same} of ${all} values that were looked at, and ${FORMS[pair.by](pair, way, 'ON ')} finds ${more[at]}.`;
}

/** The conditions, of both sides in some way; those of USING have names only in ON. */
const FORMS: Readonly<Record<JoinedKeys['by'], (pair: JoinedKeys, way: (x: string) => string, on?: string) => string>> =
  {
    '=': ({ one, other }, way) => `${way(one.written)} = ${way(other.written)}`,
    IN: ({ one, other }, way) => `${way(one.written)} IN (SELECT ${way(other.written)} …)`,
    USING: ({ one, other }, way, on) =>
      on === undefined ? `USING (${one.written})` : `${on}${way(`a.${one.written}`)} = ${way(`b.${other.written}`)}`,
  };
