import type { FanOut, JoinedSource, JoinLink } from '../../gate/fan-out.ts';
import { ID_COLUMN, quoteName, quoteText } from '../../sql/names.ts';
import { fieldName } from '../../sql/syntax-hints.ts';
import type { Look } from './look.ts';
import { type Data, fieldSql, ROWS_MAX, rowsOf, SOUGHT_ROWS } from './samples.ts';

/*
 * Aggregates over one side of a join that count a document once for each match: whether one has several tells the other side.
 */

export const fanOuts: Look = ({ fanOuts: all }, { data }) =>
  all.map((one) => ({ kind: 'fanOut', samples: [], said: () => fanOutSaid(one, data) }));

/** What to say, if a row of the source meets several of another one that the statement names behind it. */
async function fanOutSaid(one: FanOut, data: Data): Promise<string | undefined> {
  const { sources } = one;
  const met = new Set([one.of]);
  const many = new Map<number, { keys: number; most: number }>();
  for (let isMore = true; isMore; ) {
    isMore = false;
    for (const at of sources.keys()) {
      const links = met.has(at) || one.absent.includes(at) ? [] : linksTo(one, at, met);
      // What more is joined may tell its rows apart.
      if (links.length === 0 || many.get(at)?.keys === links.length) continue;
      const most = await mostOf(one, at, links, data);
      if (most > 1) many.set(at, { keys: links.length, most });
      else {
        many.delete(at);
        met.add(at);
        isMore = true;
      }
    }
    // The source that has a list is there once for each of its items.
    const owner = [...met].map((at) => sources[at]?.list?.of).find((of) => of !== undefined && !met.has(of));
    if (owner !== undefined) {
      met.add(owner);
      isMore = true;
    }
  }
  const [found] = [...many].filter(([at]) => at > one.of && !met.has(at)).sort(([a], [b]) => a - b);
  const [own, other] = [sources[one.of], sources[found?.[0] ?? -1]];
  return own && other && found ? saidOf(one, own, other, found[1].most) : undefined;
}

/** What decides which rows of a source are put to one of those that are met; none: nothing that is known. */
function linksTo({ sources, links }: FanOut, at: number, met: ReadonlySet<number>): readonly JoinLink[] {
  const own = links.filter(({ of, with: others }) => of === at && others.every((other) => met.has(other)));
  const { list } = sources[at] ?? {};
  return own.some((link) => link.with.length > 0) || (list !== undefined && met.has(list.of))
    ? list === undefined
      ? own
      : [...own, { of: at, paths: [], with: [list.of], same: undefined }]
    : [];
}

/** How many rows of a source, at most, are put to one row of those that are met: 1 for what is not known. */
async function mostOf(one: FanOut, at: number, links: readonly JoinLink[], data: Data): Promise<number> {
  const { table, list } = one.sources[at] ?? {};
  const filter = await filterSql(one, at, data);
  const ownFilter = await filterSql(one, one.of, data);
  if (filter === undefined || ownFilter === undefined) return 1;
  if (list !== undefined) {
    const { of } = list;
    // Conditions on others than the documents that have the list leave who knows which.
    if (ownFilter !== '' && (of !== one.of || one.sources[of]?.table === undefined)) return 1;
    return mostItems(list, links, filter, chosenSql(data.viewOf(list.field.table), ownFilter), data);
  }
  if (table === undefined || links.some(({ paths }) => isId(paths) && table.kind === 'collection')) return 1;
  const view = data.viewOf(table);
  const joined = links.filter((link) => link.with.length > 0);
  const keys = joined.flatMap(({ paths }) => paths).map(pathSql);
  const all = [...new Set([...keys, ...links.flatMap(({ paths }) => paths).map(pathSql)])];
  const [[rows] = []] = await rowsOf(data.connection, `SELECT count(*) FROM ${view}`);
  const limit = Number(rows ?? 0) > SOUGHT_ROWS ? ` LIMIT ${SOUGHT_ROWS}` : '';
  const columns = all.map((sql, place) => `${sql} AS k${place}`).join(', ');
  const isThere = keys.map((_, place) => `k${place} IS NOT NULL`).join(' AND ');
  const from = filter === '' ? `${view}${limit}` : chosenSql(view, filter);
  const some = `SELECT ${all.map((_, place) => `k${place}`).join(', ')}, count(*) AS n FROM (SELECT ${columns} FROM ${from}) WHERE ${isThere} GROUP BY ALL HAVING n > 1`;
  const [[most] = []] = await rowsOf(data.connection, `SELECT max(n) FROM (${some})`);
  const own = one.sources[one.of]?.table;
  if (Number(most ?? 1) < 2) return 1;
  // Keys that come twice, and that nothing is put to.
  const pairs = joined.flatMap(({ paths: [path], same, with: [of] }) =>
    of === one.of && same !== undefined && path !== undefined ? [[pathSql(path), pathSql(same)] as const] : [],
  );
  // Conditions on what is not put to it directly leave who knows which.
  if (pairs.length === 0 || own === undefined) return ownFilter === '' ? Number(most) : 1;
  const theirs = pairs.map(([sql]) => `CAST(k${all.indexOf(sql)} AS VARCHAR)`).join(', ');
  const ours = pairs.map(([, sql]) => `CAST(${sql} AS VARCHAR)`).join(', ');
  const isMet = `(${theirs}) IN (SELECT (${ours}) FROM ${chosenSql(data.viewOf(own), ownFilter)})`;
  const [[met] = []] = await rowsOf(data.connection, `SELECT max(n) FROM (${some}) WHERE ${isMet}`);
  return Number(met ?? 1);
}

/** The first rows of a view that meet a condition. */
const chosenSql = (view: string, filter: string) =>
  `(SELECT * FROM ${view} LIMIT ${SOUGHT_ROWS})${filter === '' ? '' : ` WHERE ${filter}`}`;

/** The conditions on one source alone, as SQL on its rows; empty: there are none; undefined: there is one that is not known. */
async function filterSql({ filters }: FanOut, at: number, data: Data): Promise<string | undefined> {
  const trees = filters.filter(({ of }) => of === at).map(({ tree }) => tree);
  if (trees.length === 0) return '';
  if (trees.includes(undefined)) return undefined;
  const all = `{"class":"CONJUNCTION","type":"CONJUNCTION_AND","children":[${trees.join(',')}]}`;
  const node = `{"type":"SELECT_NODE","cte_map":{"map":[]},"aggregate_handling":"STANDARD_HANDLING","select_list":[${all}],"from_table":{"type":"EMPTY"}}`;
  const json = `{"error":false,"statements":[{"node":${node}}]}`;
  const [[sql] = []] = await rowsOf(data.connection, `SELECT json_deserialize_sql(CAST(${quoteText(json)} AS JSON))`);
  return sql === undefined ? undefined : String(sql).replace(/^SELECT /, '');
}

const isId = (paths: JoinLink['paths']) => paths.length === 1 && paths[0]?.length === 1 && paths[0][0] === ID_COLUMN;

/** How many items of a list that meet a condition, at most, are the same in what chooses among them. */
async function mostItems(
  { field: { path } }: NonNullable<JoinedSource['list']>,
  links: readonly JoinLink[],
  filter: string,
  from: string,
  data: Data,
): Promise<number> {
  const tellers = links.flatMap(({ paths }) => paths).map((steps) => `v${stepsSql(steps)}`);
  const lists = `SELECT row_number() OVER () AS r, v AS l FROM (${fieldSql(path, from, ROWS_MAX)})`;
  const where = filter === '' ? '' : ` WHERE ${filter}`;
  const counts =
    tellers.length === 0 && filter === ''
      ? `SELECT len(l) AS n FROM (${lists})`
      : `SELECT count(*) AS n FROM (SELECT r, unnest(l) AS v FROM (${lists}))${where} GROUP BY ${['r', ...tellers].join(', ')}`;
  const [[most] = []] = await rowsOf(data.connection, `SELECT max(n) FROM (${counts})`);
  return Number(most ?? 1);
}

const stepsSql = (steps: readonly string[]) => steps.map((step) => `[${quoteText(step)}]`).join('');
const pathSql = ([first = '', ...steps]: readonly string[]) => `${quoteName(first)}${stepsSql(steps)}`;

function saidOf({ call, written }: FanOut, own: JoinedSource, other: JoinedSource, most: number): string {
  const value = written ?? '…';
  const what = own.table !== undefined ? 'a document' : own.list !== undefined ? 'an item' : 'a row';
  const each = `${call}(${value}) counts ${what} of ${own.name} once for each of its matches in ${other.name} (up to ${most.toLocaleString('en-US')}): if each is to count once,`;
  const id = `${fieldName(own.name)}.${ID_COLUMN}`;
  if (own.table !== undefined && call === 'count') return `${each} count(DISTINCT ${id}).`;
  return own.table === undefined || written === undefined
    ? `${each} put its ${call} into a query of its own, before the join.`
    : `${each} ${call}(x) FROM (SELECT DISTINCT ${id}, ${written} AS x, … FROM …).`;
}
