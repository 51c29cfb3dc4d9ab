/**
 * The body of a macro in which each of these parameters is computed once, however often the expression names it, as
 * `p.<name>`; or each of these expressions by its name. An argument that changes from call to call has the same value everywhere, and none is copied.
 *
 * In the argument of a table function the engine takes a dotted name in a macro for text, so the fields are taken by
 * subscript there as everywhere.
 */
export function computedOnce(
  parameters: readonly string[] | Readonly<Record<string, string>>,
  expression: string,
): string {
  const given = Array.isArray(parameters) ? parameters.map((name) => [name, name]) : Object.entries(parameters);
  const fields = given.map(([name, value]) => `'${name}': ${value}`).join(', ');
  const body = expression.replace(/\bp\.([a-z]\w*)/g, "p['$1']");
  return `list_transform([{${fields}}], lambda p: ${body})[1]`;
}
