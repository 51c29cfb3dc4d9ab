import { refusalOf } from '../contract/documents.ts';
import { isObject } from '../contract/json/json.ts';
import type { QueryResponse } from '../contract/queries.ts';
import { visibleText } from '../contract/visible.ts';
import { briefly, brieflyWritten } from './brief.ts';
import type { Fenced } from './fence.ts';
import { visibleValue } from './fence.ts';
import type { Whole } from './kept.ts';
import { type Budget, cutText, Room } from './room.ts';
import { nameOf } from './tools/relations.ts';

export const BUDGET: Budget = { rowsMax: 50, bytesMax: 25_000, tokensMax: 8_000 };
/** Rows requested from the service if neither the SQL nor the caller limits them: enough to tell how many there are. */
export const ROWS_FETCHED = 1_000;

const COLUMNS_MAX = 200;
const NAME_CHARS_MAX = 200;
/** The type of a nested column can be longer than its values. */
const TYPE_CHARS_MAX = 200;
const NOTES_MAX = 10;
const NOTE_CHARS_MAX = 600;
/** Lengths to cut long cells to, tried in order until enough rows fit. */
const CELL_CHARS = [16_000, 4_000, 1_000, 200, 40] as const;
/** Cells are cut shorter as long as fewer rows than this fit. */
const ROWS_WANTED = 10;
/** Limits for the parts of a resource, tried in order until the whole fits. */
const PART_LIMITS = [
  { chars: 4_000, items: 50 },
  { chars: 500, items: 10 },
  { chars: 100, items: 3 },
  { chars: 40, items: 0 },
] as const;
const ITEM_LIMITS = { chars: 500, items: 5 };
const NAMES_MAX = 200;
const FAILED_MAX = 5;
const IDS_MAX = 20;

/** The cell as it is, or its first characters and the number of missing ones; `cut` counts cut cells. */
function cutCell(value: unknown, charsMax: number, cut: { cells: number }): unknown {
  const isText = typeof value === 'string';
  if (!isText && (typeof value !== 'object' || value === null)) return value;
  const text = isText ? value : JSON.stringify(value);
  if (text.length <= charsMax) return value;
  cut.cells++;
  return `${text.slice(0, charsMax)}…[+${text.length - charsMax} characters${isText ? '' : ' of JSON'}]`;
}

interface Head {
  names: string[];
  types: (string | null)[];
  /** Their text in the answer. */
  text: string;
}

interface Fit {
  rows: unknown[][];
  cut: { cells: number };
}

/** The names and types of the columns, as many as fit into half of the budget. */
function headOf(fields: readonly { name?: unknown; type?: unknown }[], budget: Budget): Head {
  const room = new Room({ ...budget, bytesMax: budget.bytesMax / 2, tokensMax: budget.tokensMax / 2 });
  const head: Head = { names: [], types: [], text: '' };
  for (const { name, type } of fields.slice(0, COLUMNS_MAX)) {
    const shownName = cutText(visibleText(String(name ?? '')), NAME_CHARS_MAX);
    const shownType = typeof type === 'string' ? cutText(visibleText(type), TYPE_CHARS_MAX) : null;
    const text = JSON.stringify([shownName, shownType]);
    if (!room.take(text)) break;
    head.names.push(shownName);
    head.types.push(shownType);
    head.text += text;
  }
  return head;
}

function fitRows(rows: readonly unknown[][], head: string, charsMax: number, budget: Budget, isLast: boolean): Fit {
  const room = new Room(budget);
  room.take(head);
  const fit: Fit = { rows: [], cut: { cells: 0 } };
  for (const row of rows.slice(0, budget.rowsMax)) {
    const cells = { cells: 0 };
    const shown = row.map((cell) => cutCell(cell, charsMax, cells));
    // At least one row is always shown; with the shortest cells it is small.
    const isForced = isLast && fit.rows.length === 0;
    if (!room.take(JSON.stringify(shown)) && !isForced) break;
    fit.rows.push(shown);
    fit.cut.cells += cells.cells;
  }
  return fit;
}

/** A field of a row; a column may have the name of an inherited property. */
function own(row: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(row, name) ? (row[name] ?? null) : null;
}

/**
 * A query's answer as column names, types and one array per row, within `budget`; every cut is visible.
 *
 * If there are as many rows as `rowLimit` (the limit that was sent), there may be more: the answer then says "at
 * least", unless `whole` says what the service knows of the whole result.
 */
export function presentRows(
  response: QueryResponse,
  budget: Budget = BUDGET,
  rowLimit = Infinity,
  whole?: Whole | undefined,
): Fenced {
  const results = response.results ?? [];
  const fields = response.column_fields ?? Object.keys(results[0] ?? {}).map((name) => ({ name, type: undefined }));
  const columns = fields.map((field) => field.name ?? '');
  const head = headOf(fields, budget);
  const shown = columns.slice(0, head.names.length);
  const rows = results.slice(0, budget.rowsMax).map((row) => shown.map((name) => visibleValue(own(row, name))));
  const wanted = Math.min(rows.length, ROWS_WANTED);
  const taken = head.text + (whole?.profile === undefined ? '' : JSON.stringify(whole.profile));
  let fit: Fit = { rows: [], cut: { cells: 0 } };
  for (const [index, chars] of CELL_CHARS.entries()) {
    const isLast = index === CELL_CHARS.length - 1;
    fit = fitRows(rows, taken, chars, budget, isLast);
    if (fit.rows.length >= wanted) break;
  }
  const problems = response.query_errors ?? [];
  const isCut = problems.some((problem) => problem.status_code === 429) || results.length >= rowLimit;
  const more = whole === undefined ? isCut : !whole.isTotalExact;
  const offset = whole?.offset ?? 0;
  // A first row that is too large to be returned still counts as one.
  const isTooLarge = more && results.length === 0 && whole?.queryId == null;
  const total = isTooLarge ? 1 : (whole?.total ?? results.length);
  const firstRows = more && whole?.queryId != null ? `the first ${whole.keptRows} rows` : undefined;
  const others = problems
    .filter((problem) => problem.status_code !== 429)
    .map((problem) => cutText(String(problem.message ?? ''), NOTE_CHARS_MAX));
  const isPart = more || offset + fit.rows.length < total;
  const truncated = isPart || fit.cut.cells > 0 || shown.length < columns.length;
  return {
    data: {
      ...(whole?.queryId == null ? {} : { query_id: whole.queryId }),
      columns: head.names,
      types: head.types,
      rows: fit.rows,
      ...(offset > 0 ? { offset } : {}),
      returned: fit.rows.length,
      ...(more ? { at_least: total } : { total }),
      truncated,
      ...(firstRows === undefined ? {} : { kept: `only ${firstRows}` }),
      ...(whole?.profile === undefined || firstRows === undefined ? {} : { profile_of: firstRows }),
      ...(whole?.profile === undefined ? {} : { profile: whole.profile }),
      ...(isPart && whole?.reason ? { not_kept: cutText(visibleText(whole.reason), NOTE_CHARS_MAX) } : {}),
      ...(fit.cut.cells > 0 ? { cells_cut: fit.cut.cells } : {}),
      ...(shown.length < columns.length ? { columns_cut: columns.length - shown.length } : {}),
      ...(others.length > 0 ? { problems: others.slice(0, NOTES_MAX) } : {}),
      ...(response.warnings?.length
        ? {
            warnings: response.warnings
              .slice(0, NOTES_MAX)
              .map((warning) => cutText(visibleText(String(warning)), NOTE_CHARS_MAX)),
          }
        : {}),
    },
    next: truncated
      ? rowsHint(
          fit,
          { total, more, offset, firstRows, isTooLarge, queryId: whole?.queryId, isPage: whole?.isPage === true },
          columns.length - shown.length,
        )
      : undefined,
  };
}

interface Extent {
  total: number;
  more: boolean;
  offset: number;
  /** Which part of a larger result is kept. */
  firstRows: string | undefined;
  /** The first row alone exceeds the size limit. */
  isTooLarge: boolean;
  queryId: string | null | undefined;
  isPage: boolean;
}

const TOO_LARGE =
  'the result is not empty: its first row alone is larger than a result may be, so no row is shown, and paging does not help. Select fewer columns, or less of the large ones: aggregate lists and texts, or take parts with list_slice(column, 1, 100) or substr(column, 1, 1000)';

function rowsHint(fit: Fit, extent: Extent, columnsCut: number): string {
  const { total, more, offset, firstRows, isTooLarge, queryId, isPage } = extent;
  const hints: string[] = [];
  const end = offset + fit.rows.length;
  if (isTooLarge) hints.push(TOO_LARGE);
  else if (more || end < total) {
    const from = offset > 0 ? ` from ${offset}` : '';
    const shown = `${fit.rows.length}${from} of ${more ? 'at least ' : ''}${total} rows are shown: `;
    // A page's filter and order came from arguments, which must not be repeated here, outside the fence.
    const page = isPage
      ? `the same call with "offset": ${end}`
      : `fetch_result ${JSON.stringify({ query_id: queryId, offset: end })}`;
    if (firstRows !== undefined) {
      const among = `${fit.rows.length}${from} of ${total} rows among ${firstRows} are shown`;
      hints.push(
        `${among}, and the query has more rows than these`,
        `profile, where, order_by and export_result see ${firstRows} only: a count, least, greatest or missing value is of them, and for the whole it is to be asked of run_query with WHERE, ORDER BY or aggregates`,
        end < total ? `${page} for the next` : 'no more are kept',
      );
    } else if (queryId == null) {
      hints.push(
        `${shown}aggregate, filter or select fewer columns; or page with ORDER BY … LIMIT … OFFSET ${fit.rows.length}`,
      );
    } else if (isPage && end < total) {
      hints.push(`${shown}${page} for the next; export_result writes all rows, whatever where and columns say`);
    } else if (end < total) {
      hints.push(
        `${shown}aggregate in SQL; or ${page} for the next, with columns, where or order_by for others; export_result for all`,
      );
    } else hints.push(`${shown}no more are kept; narrow the query down`);
  }
  if (fit.cut.cells > 0)
    hints.push('long values end in "…[+n characters]": select fewer rows, or substr(column, from, length)');
  if (columnsCut > 0) hints.push(`${columnsCut} columns are left out: name the ones you need instead of *`);
  return `${hints.join('; ')}.`;
}

/** A resource without its empty fields: null, empty lists and empty objects. A default of null is a value. */
function dense(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dense);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).flatMap(([key, field]) => {
    const inner = dense(field);
    const isEmpty = inner === null || (typeof inner === 'object' && Object.keys(inner).length === 0);
    return isEmpty && !(key === 'value' && inner === null) ? [] : [[key, inner] as const];
  });
  return Object.fromEntries(kept);
}

/** One record of the service, as `presentObject`; `sent`: what a write was called with, which its text does not repeat. */
export function presentRecord(result: unknown, sent?: unknown): Fenced {
  return { ...presentObject(result), brief: (data) => briefly(data, sent) };
}

interface PartLimits {
  chars: number;
  items: number;
}

/** The value with long texts and lists cut; each cut leaves a mark, and lists remain lists. */
function cutParts(value: unknown, limits: PartLimits, cut: { parts: number }): unknown {
  if (typeof value === 'string') {
    if (value.length <= limits.chars) return value;
    cut.parts++;
    return `${value.slice(0, limits.chars)}…[+${value.length - limits.chars} characters]`;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const shown = value.slice(0, limits.items).map((item) => cutParts(item, limits, cut));
    if (shown.length === value.length) return shown;
    cut.parts++;
    return [...shown, `…[+${value.length - shown.length} items]`];
  }
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, cutParts(field, limits, cut)]));
}

/** One resource, without empty fields; its longest parts are cut if the whole exceeds the budget. */
export function presentObject(result: unknown, budget: Budget = BUDGET): Fenced {
  const whole = dense(visibleValue(result));
  let data: unknown = whole;
  let cut = { parts: 0 };
  for (const limits of PART_LIMITS) {
    cut = { parts: 0 };
    data = cutParts(whole, limits, cut);
    if (new Room(budget).take(JSON.stringify(data))) break;
  }
  return {
    data: isObject(data) ? data : { value: data },
    next: cut.parts > 0 ? `${cut.parts} long parts are cut; each cut says how much is missing.` : undefined,
  };
}

/**
 * A list of resources within the budget; those that do not fit are named as far as possible. `mask` takes the secrets
 * out of an item.
 */
export function presentList(
  items: readonly unknown[],
  budget: Budget = BUDGET,
  mask: (item: unknown) => unknown = (item) => item,
): Fenced {
  const room = new Room(budget);
  const shown: unknown[] = [];
  for (const item of items.slice(0, budget.rowsMax)) {
    const short = cutParts(dense(visibleValue(mask(item))), ITEM_LIMITS, { parts: 0 });
    if (!room.take(JSON.stringify(short)) && shown.length > 0) break;
    shown.push(short);
  }
  const names = items.slice(shown.length, shown.length + NAMES_MAX).flatMap((item) => nameOf(item) ?? []);
  const truncated = shown.length < items.length;
  return {
    data: {
      items: shown,
      returned: shown.length,
      total: items.length,
      truncated,
      ...(names.length > 0 ? { more_names: names } : {}),
    },
    brief: (data) => briefly(data),
    next: truncated
      ? `${items.length - shown.length} are left out${names.length > 0 ? ', more_names has names of them' : ''}; get one by its name.`
      : undefined,
  };
}

interface Written {
  data?: ({ _id?: unknown; status?: unknown; error?: unknown } | null)[] | null | undefined;
  last_offset?: unknown;
}

/** The count of deletes whose `_id` did not exist: the service calls them DELETED like the others. */
const NOT_THERE = 'NOT_THERE';

/**
 * A write's answer as counts by status, the first failures and the first ids; an error if every document failed. For a
 * delete, `existing` are the ids that existed just before it; undefined if that is not known.
 */
export function presentWrites(
  result: Written,
  deleted?: { existing?: ReadonlySet<string> | undefined },
  sent: ReadonlySet<string> = new Set(),
): Fenced {
  const documents = result.data ?? [];
  const counts: Record<string, number> = {};
  for (const document of documents) {
    const status = statusOf(document, deleted?.existing);
    counts[status] = (counts[status] ?? 0) + 1;
  }
  const failed = documents.flatMap((document, index) =>
    document?.status === 'ERROR' ? [{ index, _id: document._id ?? null, error: refusalOf(document.error) }] : [],
  );
  const ids = documents.flatMap((document) =>
    ['ERROR', NOT_THERE].includes(statusOf(document, deleted?.existing)) ? [] : [document?._id],
  );
  const shownFailed = failed.slice(0, FAILED_MAX).map((entry) => cutParts(entry, ITEM_LIMITS, { parts: 0 }));
  const hints: string[] = [];
  if (failed.length > 0)
    hints.push(
      `${failed.length} of ${documents.length} documents failed and are unchanged; correct and send those again`,
    );
  if ((counts[NOT_THERE] ?? 0) > 0) hints.push(`${NOT_THERE}: no document had that _id, so nothing was deleted for it`);
  if (deleted !== undefined && deleted.existing === undefined) {
    hints.push('DELETED stands also for an _id that no document had');
  }
  if (failed.length > FAILED_MAX) hints.push(`the first ${FAILED_MAX} failures are shown`);
  if (ids.length > IDS_MAX) hints.push(`the first ${IDS_MAX} ids are shown`);
  return {
    data: {
      counts,
      ...(shownFailed.length > 0 ? { failed: shownFailed } : {}),
      ids: ids.slice(0, IDS_MAX).map(String),
      last_offset: String(result.last_offset ?? ''),
    },
    brief: (data) => brieflyWritten(data, sent),
    next: hints.length > 0 ? `${hints.join('; ')}.` : undefined,
    isError: documents.length > 0 && failed.length === documents.length,
  };
}

function statusOf(
  document: { _id?: unknown; status?: unknown } | null,
  existing: ReadonlySet<string> | undefined,
): string {
  const status = String(document?.status ?? 'UNKNOWN');
  const isThere = existing === undefined || existing.has(String(document?._id));
  return status === 'DELETED' && !isThere ? NOT_THERE : status;
}
