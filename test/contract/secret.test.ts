import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { contract, inputShape, OPERATIONS } from '../../src/contract/contract.ts';
import type { Row } from '../../src/contract/row.ts';
import { holdsSecret, issued, secrecyOf, secret } from '../../src/contract/secret.ts';

describe('secret()', () => {
  it('marks a copy and keeps the description', () => {
    const text = z.string().describe('a text');
    const marked = secret(text);
    expect(secrecyOf(text)).toBeUndefined();
    expect(secrecyOf(marked)).toBe('given');
    expect(secrecyOf(marked.nullish())).toBe('given');
    expect(secrecyOf(issued(text))).toBe('issued');
    expect(marked.description).toBe('a text');
  });
});

describe('holdsSecret()', () => {
  it('looks into objects and arrays', () => {
    const inner = z.object({ password: secret(z.string()) });
    expect(holdsSecret(z.array(z.object({ inner: inner.nullish() })).optional())).toBe(true);
    expect(holdsSecret(inner, 'issued')).toBe(false);
    expect(holdsSecret(z.object({ name: z.string() }))).toBe(false);
  });

  it('knows which operations of the contract take and issue secrets', () => {
    const rows = OPERATIONS.map((operation) => ({ operation, row: contract[operation] as Row }));
    const taking = rows.filter(({ row }) => Object.values(inputShape(row)).some((field) => holdsSecret(field)));
    expect(taking.map(({ operation }) => operation)).toEqual(['createCollection', 'createIntegration']);
    const issuing = rows.filter(({ row }) => holdsSecret(row.result, 'issued'));
    expect(issuing.map(({ operation }) => operation)).toEqual([
      'createApiKey',
      'createUserApiKey',
      'createIntegration',
    ]);
  });
});
