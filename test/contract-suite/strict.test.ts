import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resource } from '../../src/contract/fields.ts';
import { deviations } from './strict.ts';

const schema = resource({ inner: resource({ a: z.string() }) });

describe('deviations()', () => {
  it('are wrong types and unknown keys alike', () => {
    expect(deviations(schema, { inner: { a: 'x' } })).toEqual([]);
    expect(deviations(schema, { inner: { a: 1, b: 2 } })).toEqual([
      expect.stringMatching(/^inner\.a: /),
      'inner.b: is not in the schema',
    ]);
  });
});
