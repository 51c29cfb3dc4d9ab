import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { contract } from '../../src/contract/contract.ts';
import { ApiError } from '../../src/contract/errors.ts';
import type { Row } from '../../src/contract/row.ts';
import { unwritable, wireRequest } from '../../src/http/request.ts';

const docs = contract.addDocuments;
const validate: Row = contract.validateQuery;

function refusal(operation: string, row: Row, input: unknown): string {
  try {
    wireRequest(operation, row, input);
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError);
    expect((error as ApiError).code).toBe('invalid_input');
    return (error as ApiError).message;
  }
  throw new Error('expected a refusal');
}

describe('wireRequest()', () => {
  test('splits flat arguments into path, query string and body', () => {
    const row: Row = {
      ...validate,
      path: '/v1/ws/{workspace}/x',
      params: z.object({ workspace: z.string() }),
      query: z.object({ create: z.boolean().optional(), after: z.string().optional() }),
      body: z.object({ name: z.string() }),
    };
    expect(wireRequest('op', row, { workspace: 'a/b', create: true, after: 'é &', name: 'n' })).toEqual({
      path: '/v1/ws/a%2Fb/x?create=true&after=%C3%A9+%26',
      body: '{"name":"n"}',
    });
  });

  test('leaves undefined fields out of query string and body', () => {
    const row: Row = { ...validate, body: z.object({ a: z.string().optional() }) };
    expect(wireRequest('op', row, { parameters: undefined, a: undefined })).toMatchObject({
      path: '/v1/orgs/self/queries/validations',
      body: '{}',
    });
  });

  test('has no body where the row takes none', () => {
    expect(wireRequest('listWorkspaces', contract.listWorkspaces, {}).body).toBeUndefined();
    expect(wireRequest('listWorkspaces', contract.listWorkspaces, undefined).body).toBeUndefined();
  });

  test('keeps every digit of a bigint', () => {
    const { body } = wireRequest('addDocuments', docs, {
      workspace: 'w',
      collection: 'c',
      data: [{ n: 9007199254740993n }],
    });
    expect(body).toBe('{"data":[{"n":9007199254740993}]}');
  });

  test.each(['...', 'a/../b', 'a?b', 'a#b', 'a%2Fb', ' ', '\n'])('keeps the name %j inside its segment', (name) => {
    const { path } = wireRequest('getWorkspace', contract.getWorkspace, { workspace: name });
    expect(path).toMatch(/^\/v1\/orgs\/self\/ws\/[^/?#\s]+$/);
    expect(path).not.toMatch(/\/\.{1,2}$/);
  });

  test.each([
    ['a lone surrogate', { workspace: '\uD800' }, /lone surrogate/],
    ['a step up in the path', { workspace: '..' }, /"workspace" must not be "\.\."/],
    ['a step to the path itself', { workspace: '.' }, /"workspace" must not be "\."/],
    ['an empty name', { workspace: '' }, /"workspace"/],
    ['a missing name', {}, /field "workspace" is missing \(expected string\)/],
    ['a number for a name', { workspace: 1 }, /field "workspace".*string/],
    ['null for a name', { workspace: null }, /field "workspace"/],
    ['an array', ['w'], /one object/],
    ['text', 'w', /one object/],
    ['null', null, /one object/],
  ])('refuses %s', (_, input, why) => {
    expect(refusal('getWorkspace', contract.getWorkspace, input)).toMatch(why);
  });

  test('names the nearest argument of an unknown one', () => {
    expect(refusal('getWorkspace', contract.getWorkspace, { workspce: 'w' })).toBe(
      'Cannot call getWorkspace: it has no argument "workspce". Did you mean "workspace"?',
    );
  });

  test('lists the arguments when none is near an unknown one', () => {
    expect(refusal('addDocuments', docs, { zzzzz: 1 })).toMatch(/It takes: workspace, collection, data\.$/);
    expect(refusal('listWorkspaces', contract.listWorkspaces, { zzzzz: 1 })).toMatch(/It takes none\.$/);
  });

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('takes %s for an unknown argument', (key) => {
    const input = JSON.parse(`{"workspace":"w","${key}":1}`);
    expect(refusal('getWorkspace', contract.getWorkspace, input)).toContain(`no argument "${key}"`);
  });

  test('names the path of a wrong field inside a list', () => {
    expect(
      refusal('patchDocuments', contract.patchDocuments, {
        workspace: 'w',
        collection: 'c',
        data: [
          { _id: '1', patch: [] },
          { _id: 2, patch: [] },
        ],
      }),
    ).toMatch(/field "data\[1\]\._id"/);
  });

  test('shows three issues and counts the rest', () => {
    const data = Array.from({ length: 10 }, () => ({ _id: 1 }));
    expect(refusal('deleteDocuments', contract.deleteDocuments, { workspace: 'w', collection: 'c', data })).toMatch(
      /and 7 more/,
    );
  });

  test.each([
    ['Infinity', Number.POSITIVE_INFINITY],
    ['-Infinity', Number.NEGATIVE_INFINITY],
    ['NaN', Number.NaN],
  ])('refuses %s, which JSON would turn into null', (_, n) => {
    expect(refusal('addDocuments', docs, { workspace: 'w', collection: 'c', data: [{}, { a: [1, n] }] })).toMatch(
      /field "data\[1\]\.a\[1\]"/,
    );
  });

  test('refuses a value that refers to itself and one nested too deeply', () => {
    const loop: Record<string, unknown> = {};
    loop['self'] = loop;
    expect(refusal('addDocuments', docs, { workspace: 'w', collection: 'c', data: [loop] })).toMatch(
      /refers to itself/,
    );
    let deep: unknown = {};
    for (let i = 0; i < 100_000; i++) deep = { deep };
    expect(refusal('addDocuments', docs, { workspace: 'w', collection: 'c', data: [deep] })).toMatch(/too deeply/);
  });
});

describe('unwritable()', () => {
  test('is the path of a number that JSON has not, wherever it is', () => {
    expect(unwritable({ a: [1, 'x', null, { b: true, c: [[Number.NaN]] }] })).toEqual(['a', 3, 'c', 0, 0]);
    expect(unwritable([0, { 'a.b': Number.POSITIVE_INFINITY }])).toEqual([1, 'a.b']);
    expect(unwritable(Number.NEGATIVE_INFINITY)).toEqual([]);
    const hidden = Object.defineProperty({ a: 1 }, 'b', { value: Number.NaN, enumerable: false });
    expect(unwritable(hidden)).toBeUndefined();
  });

  test('is nothing for what is inherited, since that is not written', () => {
    const inherits = Object.assign(Object.create({ a: Number.NaN, z: Number.NaN }), { b: 1 });
    expect(JSON.stringify(inherits)).toBe('{"b":1}');
    expect(unwritable(inherits)).toBeUndefined();
    inherits.c = Number.NaN;
    expect(unwritable(inherits)).toEqual(['c']);
  });
});
