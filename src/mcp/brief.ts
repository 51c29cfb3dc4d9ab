import { isObject } from '../contract/json/json.ts';

/**
 * What a model needs no tokens for in a record of the service; programs get all of it. Only fields that the service itself
 * counts are left out where they are zero: in what people stored, zero and false are values.
 */

type Data = Readonly<Record<string, unknown>>;

const COUNTS = new Set([
  'purged_doc_count',
  'dropped_doc_count',
  'total_index_size',
  'row_index_size',
  'column_index_size',
  'inverted_index_size',
  'range_index_size',
  'purged_doc_size',
  'bytes_overwritten',
  'num_dedicated_pods',
]);
/** The organization is the same in each user, and has a tool of its own. */
const SAME_IN_USERS = new Set(['org', 'orgs', 'org_memberships']);
/** Who made what a call has just made is the caller, and when is now. */
const OF_THE_CALL = new Set(['created_at', 'created_by', 'creator_email', 'last_updated', 'last_updated_by']);
/** A shorter text that was sent comes back: it may be a name. */
const ECHO_CHARS_MIN = 40;

/** A record, or a list of records as `items`, without what is needless; `sent`: what a write was called with. */
export function briefly(data: Data, sent?: unknown): Data {
  const echoes = textsIn(sent);
  const { items } = data;
  if (sent !== undefined) return withoutKeys(recordOf(byName(withoutSql(data, sent)), echoes) as Data, OF_THE_CALL);
  if (!Array.isArray(items)) return recordOf(data, echoes) as Data;
  return { ...data, items: items.map((item) => recordOf(item, echoes)) };
}

/** The answer of a write of documents: `sent` are the ids that its caller knows. */
export function brieflyWritten({ last_offset: _, ids, ...data }: Data, sent: ReadonlySet<string>): Data {
  const made = Array.isArray(ids) ? ids.filter((id: unknown) => !sent.has(String(id))) : [];
  return made.length === 0 ? data : { ...data, ids: made };
}

function withoutKeys(data: Data, keys: ReadonlySet<string>): Data {
  return Object.fromEntries(Object.entries(data).filter(([key]) => !keys.has(key)));
}

function recordOf(record: unknown, echoes: ReadonlySet<string>): unknown {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return record;
  const isUser = Object.hasOwn(record, 'email') && Object.hasOwn(record, 'roles');
  return Object.fromEntries(
    Object.entries(record).flatMap(([key, field]) => {
      if (isUser && SAME_IN_USERS.has(key)) return [];
      if (typeof field === 'string' && echoes.has(field)) return [];
      const told = key === 'stats' ? withoutZeros(field) : withoutEchoes(field, echoes);
      return isEmptied(field, told) ? [] : [[key, told]];
    }),
  );
}

function isEmptied(before: unknown, after: unknown): boolean {
  return before !== after && typeof after === 'object' && after !== null && Object.keys(after).length === 0;
}

function withoutZeros(stats: unknown): unknown {
  if (typeof stats !== 'object' || stats === null) return stats;
  return Object.fromEntries(Object.entries(stats).filter(([key, value]) => value !== 0 || !COUNTS.has(key)));
}

/** Without the SQL of a lambda's version, and its parameters, if these were just sent. */
function withoutSql(data: Data, sent: unknown): Data {
  return isObject(sent) && isObject(sent['sql']) ? withoutKeys(data, new Set(['sql'])) : data;
}

/** The version that a tag was pointed at, by its name: the caller has just named it. */
function byName(data: Data): Data {
  const { version } = data;
  return isObject(version) && typeof version['version'] === 'string' ? { ...data, version: version['version'] } : data;
}

function withoutEchoes(value: unknown, echoes: ReadonlySet<string>): unknown {
  if (echoes.size === 0 || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const kept = Object.entries(value).flatMap(([key, field]) =>
    typeof field === 'string' && echoes.has(field) ? [] : [[key, withoutEchoes(field, echoes)] as const],
  );
  return Object.fromEntries(kept);
}

function textsIn(sent: unknown): ReadonlySet<string> {
  const texts = new Set<string>();
  const visit = (value: unknown) => {
    if (typeof value === 'string' && value.length >= ECHO_CHARS_MIN) texts.add(value);
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(visit);
  };
  visit(sent);
  return texts;
}
