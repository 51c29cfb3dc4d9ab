import { describe, expect, it } from 'vitest';
import { fillPath } from '../../src/contract/path.ts';

const TEMPLATE = '/ws/{workspace}/collections/{collection}';

describe('fillPath()', () => {
  it('escapes what would leave its segment', () => {
    const filled = fillPath(TEMPLATE, { workspace: 'a/b', collection: '../x?y#z%2F é' });
    expect(filled).toBe('/ws/a%2Fb/collections/..%2Fx%3Fy%23z%252F%20%C3%A9');
  });

  it.each(['.', '..'])('refuses "%s", which URL parsers take as a step', (workspace) => {
    expect(() => fillPath(TEMPLATE, { workspace, collection: 'c' })).toThrow(`must not be "${workspace}"`);
  });

  it.each([undefined, '', 7, null])('refuses %s where a name belongs', (workspace) => {
    expect(() => fillPath(TEMPLATE, { workspace, collection: 'c' })).toThrow('"workspace"');
  });
});
