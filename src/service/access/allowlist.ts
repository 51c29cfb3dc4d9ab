import type { AllowlistEntry } from '../../contract/allowlist.ts';
import { ApiError } from '../../contract/errors.ts';
import { type AddressRange, contains, firstOf, isLoopback, parseRange } from '../app/addresses.ts';
import type { Origin } from '../app/origin.ts';
import { type Catalog, put, remove } from '../catalog/catalog.ts';
import { byName, requireAllowlistEntry } from '../catalog/not-found.ts';
import type { AllowlistRecord } from '../catalog/records.ts';
import type { CallContext } from '../context.ts';

const SHOWN_MAX = 80;
const BEHIND_PROXY =
  'the request came through a proxy that the service does not know. Name the proxy\'s address in the setting "--trust-proxy" of the service';

/**
 * Whether a list admits a caller: an empty list admits everybody; otherwise it admits what is on it, and this machine.
 * A request forwarded by an unknown proxy does not count as this machine's, even if the proxy runs here.
 */
export function admits(entries: Iterable<Pick<AllowlistRecord, 'ipAddress'>>, origin: Origin): boolean {
  const { address } = origin;
  const isOwn = origin.isLocal || (address !== undefined && isLoopback(address));
  if (isOwn && !origin.isForwarded) return true;
  let isEmpty = true;
  for (const { ipAddress } of entries) {
    isEmpty = false;
    const range = parseRange(ipAddress);
    // If a proxy's own address is on the list, everybody behind it is admitted.
    if (range !== undefined && address !== undefined && contains(range, address)) return true;
  }
  return isEmpty;
}

/** The names of the entries that let a caller in; null for one that needs none. */
export function admittedBy(catalog: Catalog, origin: Origin): string[] | null {
  const entries = [...catalog.all('allowlist').values()];
  const needsNone = entries.length === 0 || admits([NOWHERE], origin);
  return needsNone ? null : entries.filter((entry) => admits([entry], origin)).map(({ name }) => name);
}

/** An entry that holds no address. */
const NOWHERE = { ipAddress: '' };

/** Throws `forbidden` if the allowlist does not admit the caller. */
export function requireAllowed(catalog: Catalog, origin: Origin): void {
  if (admits(catalog.all('allowlist').values(), origin)) return;
  const why = origin.isForwarded
    ? BEHIND_PROXY
    : 'it is not on the IP allowlist of the organization. Ask an admin to add it, or call from an address on the list';
  throw new ApiError('forbidden', `Cannot answer a request from the address "${origin.shown}": ${why}.`);
}

/** Adds an address or range (docs/api.md #26). Throws `already_exists`; `invalid_input`, also if it locks out the caller. */
export function createAllowlistEntry(
  ctx: CallContext,
  input: { name: string; description?: string | undefined; ip_address: string },
): Promise<AllowlistEntry> {
  const { catalog } = ctx;
  const what = `Cannot add "${input.name}" to the IP allowlist`;
  const range = parseRange(input.ip_address);
  if (range === undefined) {
    throw new ApiError(
      'invalid_input',
      `${what}: "ip_address" ${JSON.stringify(input.ip_address.slice(0, SHOWN_MAX))} is neither an IP address nor a range in CIDR notation. Write it as in "203.0.113.7", "203.0.113.0/24" or "2001:db8::/32".`,
    );
  }
  return catalog.change(() => {
    const entries = catalog.all('allowlist');
    if (entries.has(input.name)) {
      throw new ApiError(
        'already_exists',
        `${what}: an entry of that name exists already. Delete it first, or choose another name.`,
      );
    }
    const record: AllowlistRecord = {
      name: input.name,
      description: input.description ?? null,
      ipAddress: input.ip_address,
      creatorEmail: ctx.caller.user.email,
      createdAt: new Date().toISOString(),
    };
    if (!admits([...entries.values(), record], ctx.origin)) {
      throw new ApiError(
        'invalid_input',
        `${what}: ${lockedOut(ctx.origin, `"${input.ip_address}" does not hold it`)}`,
      );
    }
    const warnings = rangeWarnings(input.ip_address, range);
    const result = { ...toEntry(record), ...(warnings.length === 0 ? {} : { warnings }) };
    return { changes: [put('allowlist', record.name, record)], result };
  });
}

/** What somebody may not have meant who wrote this range. */
function rangeWarnings(written: string, range: AddressRange): string[] {
  if (range.prefix === 0) {
    const all = range.address.length === 4 ? 'IPv4' : 'IPv6';
    return [`This range holds every ${all} address: with it, the allowlist refuses none of them.`];
  }
  const first = firstOf(range);
  if (first.every((byte, index) => byte === range.address[index])) return [];
  const from = range.address.length === 4 ? `, ${first.join('.')} being its first address` : '';
  return [
    `"${written}" has bits set behind its prefix: it lets the whole range in${from}. For one address leave the prefix out.`,
  ];
}

/**
 * Removes an entry (docs/api.md #27); without entries every address is admitted. Throws `not_found`, or
 * `dependent_resources` if no other entry admits the caller's own address.
 */
export function deleteAllowlistEntry(ctx: CallContext, input: { name: string }): Promise<AllowlistEntry> {
  const { catalog } = ctx;
  return catalog.change(() => {
    const record = requireAllowlistEntry(catalog, input.name);
    const rest = [...catalog.all('allowlist').values()].filter((other) => other.name !== record.name);
    if (!admits(rest, ctx.origin)) {
      throw new ApiError(
        'dependent_resources',
        `Cannot remove "${record.name}" from the IP allowlist: ${lockedOut(ctx.origin, 'no other entry holds it')}`,
      );
    }
    return { changes: [remove('allowlist', record.name)], result: toEntry(record) };
  });
}

/** One entry (docs/api.md #28). */
export function getAllowlistEntry({ catalog }: CallContext, input: { name: string }): AllowlistEntry {
  return toEntry(requireAllowlistEntry(catalog, input.name));
}

/** All entries, by name (docs/api.md #29). */
export function listAllowlistEntries({ catalog }: CallContext): AllowlistEntry[] {
  return [...catalog.all('allowlist').values()].sort(byName).map(toEntry);
}

function lockedOut(origin: Origin, why: string): string {
  if (origin.isForwarded)
    return `the caller would be locked out, since ${BEHIND_PROXY}, or call it on its own machine.`;
  return `the caller would be locked out: its address is "${origin.shown}", and ${why}. Add an entry for that address first, or call the service on its own machine.`;
}

function toEntry(record: AllowlistRecord): AllowlistEntry {
  return {
    name: record.name,
    description: record.description,
    ip_address: record.ipAddress,
    creator_email: record.creatorEmail,
    created_at: record.createdAt,
  };
}
