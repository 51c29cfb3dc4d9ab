import { describe, expect, it } from 'vitest';
import { withAlikeTypes } from '../../../src/mcp/tools/fold-lines.ts';

const typesOf = (lines: [path: string, type: string][]) =>
  withAlikeTypes(lines.map(([path, type]) => ({ path, type, depth: 1, rest: [] }))).map(({ type }) => type);

const FIELDS = '{version_added text, flags list of {name text, type text}, notes text, prefix text}';

describe('withAlikeTypes()', () => {
  it('names an object beside it that has the same fields, in any order, or more', () => {
    const others = '{notes text, prefix text, version_added text, flags list of {name text, type text}}';
    const fewer = '{flags list of {name text, type text}, notes text, version_added text}';
    expect(
      typesOf([
        ['s.a', FIELDS],
        ['s.b', others],
        ['s.c', fewer],
      ]),
    ).toEqual([FIELDS, 'as s.a', 'as s.a, fewer fields']);
  });

  it('leaves those that are elsewhere, have another type, or are short', () => {
    const more = FIELDS.replace('{', '{extra text, ');
    const nested = FIELDS.replace('type text', 'type integer');
    const short: [string, string] = ['s.e', '{name text}'];
    expect(
      typesOf([['s.a', FIELDS], ['o.a', FIELDS], ['s.b', more], ['s.c', nested], short, ['s.f', short[1]]]),
    ).toEqual([FIELDS, FIELDS, more, nested, short[1], short[1]]);
  });

  it('takes a comma within quotes for a part of a name', () => {
    const odd = `{"a, b" text, ${'c'.repeat(60)} text}`;
    expect(
      typesOf([
        ['s.a', odd],
        ['s.b', `{"a text, ${'c'.repeat(60)} text}`],
      ])[1],
    ).not.toContain('as ');
  });
});
