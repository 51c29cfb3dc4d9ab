/**
 * The body of a macro in which each of these parameters (or each of these expressions, by its name) is computed once,
 * however often the expression names it as `p.<name>`. An argument that changes from call to call has the same value
 * everywhere, and none is copied.
 *
 * An argument that has to stay as written is inside the lambda. There, a name that the caller uses must not be mistaken
 * for the lambda's parameter: hence the odd name.
 *
 * In the argument of a table function the engine reads a dotted name in a macro as text, so fields are accessed by
 * subscript, here as everywhere.
 */
export function computedOnce(
  parameters: readonly string[] | Readonly<Record<string, string>>,
  expression: string,
): string {
  const given = Array.isArray(parameters) ? parameters.map((name) => [name, name]) : Object.entries(parameters);
  const fields = given.map(([name, value]) => `'${name}': ${value}`).join(', ');
  const body = expression.replace(/\bp\.([a-z]\w*)/g, "_p_['$1']");
  return `list_transform([{${fields}}], lambda _p_: ${body})[1]`;
}
