import type { Row } from '../../contract/row.ts';
import { visibleText } from '../../contract/visible.ts';
import { cutWithoutKeys } from '../../contract/without-keys.ts';
import type { Principal } from '../access/auth.ts';

/** What else than names a body may say is not for a log. */
const NAMES = ['name', 'email', 'tag_name', 'version'] as const;
const CHARS_MAX = 128;

/** The names that the body of a request gives to what it is about. */
export function namesIn(input: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(NAMES.flatMap((name) => (Object.hasOwn(input, name) ? [[name, input[name]]] : [])));
}

/**
 * Who changed what, for the request's line in the log: user, name of the key, and the names in path and body. Nothing for what
 * reads, nor for whoever has no key.
 */
export function changeIn(
  row: Pick<Row, 'effect'> | undefined,
  caller: Principal | undefined,
  about: Readonly<Record<string, unknown>>,
): { user?: string; key_name?: string; about?: Record<string, string> } {
  if (row === undefined || row.effect === 'read' || caller === undefined) return {};
  const names = Object.entries(about).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, visibleText(cutWithoutKeys(value, CHARS_MAX))] as const] : [],
  );
  return { user: caller.user.email, key_name: caller.keyName, about: Object.fromEntries(names) };
}
