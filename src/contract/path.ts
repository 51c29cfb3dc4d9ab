/** Fills a path template, percent-encoding every parameter, so that no name leaves its segment. Throws `TypeError`. */
export function fillPath(template: string, params: Readonly<Record<string, unknown>>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    if (typeof value !== 'string' || value === '') {
      throw new TypeError(`path parameter "${name}" of ${template} is missing`);
    }
    // URL parsers treat these two as steps in the path, percent-encoded or not, so they would name something else.
    if (value === '.' || value === '..') throw new TypeError(`path parameter "${name}" must not be "${value}"`);
    return encodeURIComponent(value);
  });
}
