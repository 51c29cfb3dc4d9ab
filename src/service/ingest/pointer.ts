/** The tokens of a JSON pointer (RFC 6901); undefined if the text is not one. */
export function parsePointer(pointer: string): string[] | undefined {
  if (pointer === '') return [];
  // A tilde may only come before 0 or 1.
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined;
  return pointer.slice(1).split('/').map(unescapeToken);
}

// In this order, so that `~01` becomes `~1` and not `/`.
function unescapeToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}
