import type { About as ServiceAbout } from '../../contract/about.ts';
import type { Operation } from '../../contract/contract.ts';
import { ApiError, type ErrorCode } from '../../contract/errors.ts';
import { someOf } from '../../contract/in-words.ts';
import { ROLES, type Row, rankOf } from '../../contract/row.ts';
import type { Client } from '../../http/client.ts';
import { type Arguments, nameOf, pathParameters } from '../tools/relations.ts';
import { listed, quoted, type Read, siblingCount } from './target.ts';

/** What the service says of itself; undefined if it says nothing. */
export type About = () => Promise<ServiceAbout | undefined>;

/** A delete that may be refused. */
export interface Deletion {
  row: Row;
  /** The kind of thing to delete. */
  noun: string | undefined;
  name: string;
}

/** What the service would answer because of the name alone, whatever it belongs to. */
export function nameRefusal({ row, noun, name }: Deletion): ApiError | undefined {
  const why = row.refuses?.names?.[name];
  if (why !== undefined) return refusal('invalid_input', noun, name, why);
  const isSelf = row.refuses?.own === true && name === 'self';
  return isSelf ? refusal('dependent_resources', noun, name, OWN_USER) : undefined;
}

/**
 * What the service would answer to deleting this existing thing, so that no human is asked about a delete that will be
 * refused. Whatever cannot be found out is left to the service.
 */
export async function vainRefusal(
  deletion: Deletion,
  target: Arguments | undefined,
  { read, about }: { read: Read; about: About },
): Promise<ApiError | undefined> {
  const { row, noun, name } = deletion;
  const { last, usedIn, own, lastOf, onlyForCaller } = row.refuses ?? {};
  const siblings = last === true || onlyForCaller === true ? await siblingCount(read, row.path) : undefined;
  if (last === true && siblings === 1) {
    return refusal('invalid_input', noun, name, 'it is the only one. Delete what it belongs to instead.');
  }
  const users = usedIn === undefined ? undefined : target?.[usedIn];
  if (Array.isArray(users) && users.length > 0) {
    const names = users.map((user) => fullName(user));
    return refusal('dependent_resources', noun, name, `its ${usedIn} ${listed(names)} use it. Delete these first.`);
  }
  if (own === true && isSame((await currentUser(read))?.['email'], target?.['email'])) {
    return refusal('dependent_resources', noun, name, OWN_USER);
  }
  if (lastOf !== undefined && (await isLastOf(read, lastOf, target))) {
    return refusal('dependent_resources', noun, name, `it is the last ${lastOf}. Create another one first.`);
  }
  if (onlyForCaller === true && siblings !== 1) {
    const admitting = (await about())?.admitted_by ?? [];
    if (admitting.length === 1 && admitting[0] === name) return refusal('dependent_resources', noun, name, ONLY_ENTRY);
  }
  return undefined;
}

/** What the service would answer because of the caller's role, whatever it is that is deleted. */
export async function roleRefusal({ row, noun, name }: Deletion, read: Read): Promise<ApiError | undefined> {
  if (row.role === ROLES[0]) return undefined;
  const rank = rankOf((await currentUser(read))?.['roles'] as readonly string[] | null | undefined);
  if (rank === undefined || rank >= ROLES.indexOf(row.role)) return undefined;
  return refusal('forbidden', noun, name, `it needs the role ${row.role}, and the API key has ${ROLES[rank]}.`);
}

/** Refuses where something that must be empty is not, or is used: only what is in the way is named. */
export function contentsRefusal(
  { row, noun, name }: Deletion,
  { found, users }: { found: readonly string[]; users: readonly string[] },
): ApiError | undefined {
  if (found.length === 0 || row.refuses?.contents !== true) return undefined;
  if (noun === 'workspace')
    return refusal('dependent_resources', noun, name, `it is not empty. ${found.join(' ')} Delete these first.`);
  const by = someOf(users, USERS_MAX);
  return refusal('dependent_resources', noun, name, `it is used by ${by}. Change or delete these first.`);
}

const USERS_MAX = 20;

/** Whether a delete removes the API key of this call itself; undefined if the service does not say. */
export async function takesOwnKey(
  { row, name }: Deletion,
  { client, args, signal, about }: { client: Client; args: Arguments; signal: AbortSignal | undefined; about: About },
): Promise<boolean | undefined> {
  if (row.locksOut !== true) return false;
  if (pathParameters(row.path).includes('user') && args['user'] !== 'self') {
    if ((await isCaller(client, args['user'], signal)) === false) return false;
  }
  const own = (await about())?.api_key;
  return own == null ? undefined : own === name;
}

/** Whether a user is the one to whom the API key of this call belongs; undefined if the service does not say. */
export async function isCaller(
  client: Client,
  email: unknown,
  signal: AbortSignal | undefined,
): Promise<boolean | undefined> {
  const user = await client.getCurrentUser({}, { signal }).catch(() => undefined);
  return user === undefined ? undefined : isSame(user.email, email);
}

const ONLY_ENTRY =
  'it is the only entry that holds the address of this call, which would be locked out. Add another one for it first.';
const OWN_USER = 'the API key of this server belongs to it. Use the key of another admin.';

function refusal(code: ErrorCode, noun: string | undefined, name: string, why: string) {
  return new ApiError(code, `Cannot delete ${noun ?? 'it'} ${quoted(name)}: ${why}`);
}

function fullName(item: unknown): string {
  const { workspace } = item as Arguments;
  const name = nameOf(item) ?? '';
  return typeof workspace === 'string' ? `${workspace}.${name}` : name;
}

function isSame(a: unknown, b: unknown): boolean {
  return typeof a === 'string' && typeof b === 'string' && a.toLowerCase() === b.toLowerCase();
}

async function currentUser(read: Read): Promise<Arguments | undefined> {
  return (await read('getCurrentUser' satisfies Operation).catch(() => undefined)) as Arguments | undefined;
}

async function isLastOf(read: Read, role: string, target: Arguments | undefined): Promise<boolean> {
  const users = await read('listUsers' satisfies Operation).catch(() => undefined);
  if (!Array.isArray(users)) return false;
  const having = (users as Arguments[]).filter(({ roles }) => Array.isArray(roles) && roles.includes(role));
  return having.length === 1 && isSame(having[0]?.['email'], target?.['email']);
}
