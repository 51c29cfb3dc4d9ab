/** @module-tag more */
import fc from 'fast-check';
import { applyPatch as applyRfc6902 } from 'rfc6902';
import { describe, expect, it } from 'vitest';
import type { PatchOperation } from '../../../src/contract/documents.ts';
import { type JsonObject, parseJson } from '../../../src/contract/json/json.ts';
import { applyPatch } from '../../../src/service/ingest/patch.ts';
import { propertyRuns } from '../../property.ts';

type Case = [name: string, before: string, patch: string, after: string];

// As JSON text, read and written exactly, so that 64-bit integers and `__proto__` keys are as on the wire.
const applied: Case[] = [
  ['adds an object member', '{"foo":"bar"}', '[{"op":"add","path":"/baz","value":"qux"}]', '{"foo":"bar","baz":"qux"}'],
  ['adds an array element', '{"a":[1,3]}', '[{"op":"add","path":"/a/1","value":2}]', '{"a":[1,2,3]}'],
  ['appends with -', '{"a":[1]}', '[{"op":"add","path":"/a/-","value":[2]}]', '{"a":[1,[2]]}'],
  ['appends at the index after the last', '{"a":[1]}', '[{"op":"add","path":"/a/1","value":2}]', '{"a":[1,2]}'],
  ['replaces what add finds', '{"a":1}', '[{"op":"add","path":"/a","value":null}]', '{"a":null}'],
  ['removes a member', '{"a":1,"b":2}', '[{"op":"remove","path":"/a"}]', '{"b":2}'],
  ['removes an element', '{"a":[1,2,3]}', '[{"op":"remove","path":"/a/1"}]', '{"a":[1,3]}'],
  ['replaces a value', '{"a":[1,2]}', '[{"op":"replace","path":"/a/0","value":{"x":1}}]', '{"a":[{"x":1},2]}'],
  ['moves a value', '{"a":{"b":1},"c":{}}', '[{"op":"move","from":"/a/b","path":"/c/d"}]', '{"a":{},"c":{"d":1}}'],
  [
    'moves inside an array',
    '{"a":["all","grass","cows","eat"]}',
    '[{"op":"move","from":"/a/1","path":"/a/3"}]',
    '{"a":["all","cows","eat","grass"]}',
  ],
  ['moves to itself', '{"a":1}', '[{"op":"move","from":"/a","path":"/a"}]', '{"a":1}'],
  [
    'copies by value',
    '{"a":{"x":1}}',
    '[{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/b/x","value":2}]',
    '{"a":{"x":1},"b":{"x":2}}',
  ],
  [
    'copies an object into itself',
    '{"a":{"x":1}}',
    '[{"op":"copy","from":"/a","path":"/a/y"}]',
    '{"a":{"x":1,"y":{"x":1}}}',
  ],
  [
    'reads ~1 and ~0',
    '{"a/b":1,"m~n":2,"~1":3}',
    '[{"op":"replace","path":"/a~1b","value":9},{"op":"test","path":"/m~0n","value":2},{"op":"test","path":"/~01","value":3}]',
    '{"a/b":9,"m~n":2,"~1":3}',
  ],
  ['knows the empty key', '{"":1}', '[{"op":"replace","path":"/","value":2}]', '{"":2}'],
  [
    'takes op in any case',
    '{"a":1}',
    '[{"op":"REPLACE","path":"/a","value":2},{"op":"Test","path":"/a","value":2}]',
    '{"a":2}',
  ],
  [
    'tests in any key order',
    '{"a":{"x":1,"y":[true,null]}}',
    '[{"op":"test","path":"/a","value":{"y":[true,null],"x":1}}]',
    '{"a":{"x":1,"y":[true,null]}}',
  ],
  ['tests the whole document', '{"a":1}', '[{"op":"test","path":"","value":{"a":1}}]', '{"a":1}'],
  ['replaces the whole document', '{"a":1}', '[{"op":"replace","path":"","value":{"b":2}}]', '{"b":2}'],
  [
    'keeps _id when the whole document is replaced',
    '{"_id":"i","a":1}',
    '[{"op":"replace","path":"","value":{"b":2}}]',
    '{"_id":"i","b":2}',
  ],
  ['copies from _id', '{"_id":"i"}', '[{"op":"copy","from":"/_id","path":"/key"}]', '{"_id":"i","key":"i"}'],
  ['increments', '{"n":1}', '[{"op":"increment","path":"/n","value":-3}]', '{"n":-2}'],
  ['increments by a fraction', '{"n":1}', '[{"op":"increment","path":"/n","value":0.5}]', '{"n":1.5}'],
  [
    'increments past 2^53 exactly',
    '{"n":9007199254740991}',
    '[{"op":"increment","path":"/n","value":2}]',
    '{"n":9007199254740993}',
  ],
  [
    'increments a 64-bit integer exactly',
    '{"n":9223372036854775806}',
    '[{"op":"increment","path":"/n","value":1}]',
    '{"n":9223372036854775807}',
  ],
  [
    'increments back below 2^53',
    '{"n":9007199254740993}',
    '[{"op":"increment","path":"/n","value":-9007199254740992}]',
    '{"n":1}',
  ],
  [
    'tests 64-bit integers exactly',
    '{"n":9007199254740993}',
    '[{"op":"test","path":"/n","value":9007199254740993}]',
    '{"n":9007199254740993}',
  ],
  [
    'tests 1e16 equal to 10000000000000000',
    '{"n":1e16}',
    '[{"op":"test","path":"/n","value":10000000000000000}]',
    '{"n":1e16}',
  ],
  [
    'treats __proto__ as a field',
    '{"__proto__":{"a":1}}',
    '[{"op":"add","path":"/__proto__/b","value":2}]',
    '{"__proto__":{"a":1,"b":2}}',
  ],
  [
    'makes a field named __proto__',
    '{}',
    '[{"op":"add","path":"/__proto__","value":{"x":1}}]',
    '{"__proto__":{"x":1}}',
  ],
  [
    'keeps __proto__ inside a value',
    '{}',
    '[{"op":"add","path":"/a","value":{"__proto__":{"x":1}}}]',
    '{"a":{"__proto__":{"x":1}}}',
  ],
  [
    'treats constructor as a field',
    '{"constructor":{"a":1}}',
    '[{"op":"replace","path":"/constructor/a","value":2}]',
    '{"constructor":{"a":2}}',
  ],
];

type Refusal = [name: string, before: string, patch: string, message: RegExp];

const refused: Refusal[] = [
  [
    'a missing parent',
    '{}',
    '[{"op":"add","path":"/a/b","value":1}]',
    /patch\[0\] \(add "\/a\/b"\) failed: there is no value at "a"/,
  ],
  [
    'a parent that is a string',
    '{"a":"x"}',
    '[{"op":"add","path":"/a/0","value":1}]',
    /neither an object nor an array/,
  ],
  ['an index past the end', '{"a":[1]}', '[{"op":"add","path":"/a/2","value":1}]', /past its end/],
  ['a copy past the end', '{"a":[1]}', '[{"op":"copy","from":"/a/0","path":"/a/5"}]', /past its end/],
  [
    'a move past the end after its removal',
    '{"a":[1,2]}',
    '[{"op":"move","from":"/a/0","path":"/a/2"}]',
    /past its end/,
  ],
  ['an index with a leading zero', '{"a":[1,2]}', '[{"op":"replace","path":"/a/01","value":1}]', /"01" is no index/],
  ['a negative index', '{"a":[1]}', '[{"op":"remove","path":"/a/-1"}]', /"-1" is no index/],
  ['an exponent as index', '{"a":[1]}', '[{"op":"remove","path":"/a/1e0"}]', /no index/],
  ['removing -', '{"a":[1]}', '[{"op":"remove","path":"/a/-"}]', /there is no value at "-"/],
  ['replacing -', '{"a":[1]}', '[{"op":"replace","path":"/a/-","value":2}]', /there is no value at "-"/],
  ['length, which only JavaScript sees', '{"a":[1,2]}', '[{"op":"remove","path":"/a/length"}]', /no index/],
  ['inherited members', '{}', '[{"op":"test","path":"/toString","value":null}]', /there is no value at "toString"/],
  [
    'walking through the prototype',
    '{"a":{}}',
    '[{"op":"add","path":"/a/__proto__/polluted","value":1}]',
    /there is no value at "__proto__"/,
  ],
  [
    'walking through the constructor',
    '{}',
    '[{"op":"add","path":"/constructor/prototype/polluted","value":1}]',
    /"constructor"/,
  ],
  ['removing what is not there', '{}', '[{"op":"remove","path":"/a"}]', /no value/],
  ['replacing what is not there', '{}', '[{"op":"replace","path":"/a","value":1}]', /no value/],
  ['a move into its own child', '{"a":{"b":{}}}', '[{"op":"move","from":"/a","path":"/a/b/c"}]', /into itself/],
  ['a test that fails', '{"a":1}', '[{"op":"test","path":"/a","value":"1"}]', /another one/],
  [
    'a test of 2^53+1 against 2^53',
    '{"n":9007199254740993}',
    '[{"op":"test","path":"/n","value":9007199254740992}]',
    /another one/,
  ],
  ['a test against a longer array', '{"a":[1]}', '[{"op":"test","path":"/a","value":[1,2]}]', /another one/],
  ['a test of an array against an object', '{"a":[]}', '[{"op":"test","path":"/a","value":{}}]', /another one/],
  ['add without a value', '{}', '[{"op":"add","path":"/a"}]', /"value" is missing/],
  ['copy without from', '{}', '[{"op":"copy","path":"/a"}]', /"from" is missing/],
  ['a pointer without a slash', '{"a":1}', '[{"op":"remove","path":"a"}]', /no JSON pointer/],
  ['a pointer with ~2', '{"a~2":1}', '[{"op":"remove","path":"/a~2"}]', /no JSON pointer/],
  ['an unknown op', '{}', '[{"op":"merge","path":"/a","value":1}]', /"merge" is no operation; there are add, remove/],
  ['removing the document', '{"a":1}', '[{"op":"remove","path":""}]', /use deleteDocuments/],
  ['a document that is no object', '{"a":1}', '[{"op":"replace","path":"","value":[1]}]', /must be a JSON object/],
  ['patching _id', '{"_id":"i"}', '[{"op":"replace","path":"/_id","value":"j"}]', /"_id" names the document/],
  ['removing _id', '{"_id":"i"}', '[{"op":"remove","path":"/_id"}]', /"_id" names the document/],
  ['moving _id', '{"_id":"i"}', '[{"op":"move","from":"/_id","path":"/x"}]', /"_id" names the document/],
  [
    'another _id in a whole document',
    '{"_id":"i"}',
    '[{"op":"add","path":"","value":{"_id":"j"}}]',
    /"_id" names the document/,
  ],
  ['patching _event_time', '{}', '[{"op":"add","path":"/_event_time","value":1}]', /"_event_time" cannot be patched/],
  ['patching _meta', '{}', '[{"op":"add","path":"/_meta/x","value":1}]', /"_meta" is not stored/],
  ['incrementing what is not there', '{}', '[{"op":"increment","path":"/n","value":1}]', /no value/],
  ['incrementing text', '{"n":"1"}', '[{"op":"increment","path":"/n","value":1}]', /no number/],
  ['incrementing by text', '{"n":1}', '[{"op":"increment","path":"/n","value":"1"}]', /must be a number/],
  ['a sum beyond a double', '{"n":1.7e308}', '[{"op":"increment","path":"/n","value":1.7e308}]', /too large/],
  [
    'the second of two, naming it',
    '{"a":1}',
    '[{"op":"test","path":"/a","value":1},{"op":"remove","path":"/b"}]',
    /^patch\[1\] \(remove "\/b"\)/,
  ],
];

function parsed(document: string, patch: string): [JsonObject, PatchOperation[]] {
  return [parseJson(document) as JsonObject, parseJson(patch) as unknown as PatchOperation[]];
}

describe('applyPatch()', () => {
  for (const [name, before, patch, after] of applied) {
    it(name, () => {
      const [document, operations] = parsed(before, patch);
      const copy = structuredClone(document);
      expect(applyPatch(document, operations)).toEqual(parseJson(after));
      expect(document).toEqual(copy);
    });
  }

  it('takes the path of a move as it is after the removal', () => {
    const [document, operations] = parsed('{"a":[0,[]]}', '[{"op":"move","from":"/a/0","path":"/a/1"}]');
    expect(applyPatch(document, operations)).toEqual({ a: [[], 0] });
  });

  for (const [name, before, patch, message] of refused) {
    it(`refuses ${name}`, () => {
      const [document, operations] = parsed(before, patch);
      const copy = structuredClone(document);
      expect(() => applyPatch(document, operations)).toThrow(message);
      expect(document).toEqual(copy);
    });
  }

  it('leaves every prototype alone', () => {
    const [document, operations] = parsed('{}', '[{"op":"add","path":"/__proto__","value":{"polluted":1}}]');
    const after = applyPatch(document, operations);
    expect(Object.keys(after)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(after)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('gives what the package rfc6902 gives, and refuses what that one refuses', () => {
    const key = fc.constantFrom('a', 'b', 'c/d', 'e~f', '');
    const leaf = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.constant(null));
    const value = fc.oneof(
      leaf,
      fc.array(leaf, { maxLength: 3 }),
      fc.dictionary(key, leaf, { maxKeys: 3, noNullPrototype: true }),
    );
    const token = fc.constantFrom('a', 'b', 'c~1d', 'e~0f', '', '0', '1', '-');
    const path = fc.array(token, { minLength: 1, maxLength: 2 }).map((tokens) => `/${tokens.join('/')}`);
    const operation = fc.oneof(
      fc.record({ op: fc.constantFrom('add', 'replace', 'test'), path, value }),
      fc.record({ op: fc.constant('remove'), path }),
      fc.record({ op: fc.constant('copy'), from: path, path }),
    );
    fc.assert(
      fc.property(fc.dictionary(key, value, { noNullPrototype: true }), operation, (document, one) => {
        const theirs = structuredClone(document) as JsonObject;
        let ours: JsonObject;
        try {
          ours = applyPatch(document as JsonObject, [one as PatchOperation]);
        } catch {
          // The package also applies some invalid operations, so our refusing one proves nothing.
          return;
        }
        expect([applyRfc6902(theirs, [one as never]), theirs]).toEqual([[null], ours]);
      }),
      propertyRuns(2_000),
    );
  });
});
