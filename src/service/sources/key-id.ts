/**
 * The `_id` of an item that a source knows by these values of its key: a single one as it is; several joined by `/`, with `%`
 * and `/` within them percent-encoded, so that different keys never have the same id.
 */
export function idOfKey(values: readonly string[]): string {
  const [only = ''] = values;
  if (values.length === 1) return only;
  return values.map((value) => value.replace(/[%/]/g, (sign) => (sign === '%' ? '%25' : '%2F'))).join('/');
}
