import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AnyObject, Json, resource } from '../../../src/contract/fields.ts';
import { inputSchema, outputSchema } from '../../../src/mcp/tools/schemas.ts';

const input = (schema: z.ZodType) => inputSchema({ field: schema }).properties?.['field'];

describe('inputSchema()', () => {
  it('strips the bounds of integers that JSON cannot exceed anyway, and keeps real ones', () => {
    expect(input(z.int())).toEqual({ type: 'integer' });
    expect(input(z.int().min(5).max(9))).toEqual({ type: 'integer', minimum: 5, maximum: 9 });
    expect(input(z.int().min(1))).toEqual({ type: 'integer' });
  });

  it('takes the first member of a union that is not null', () => {
    expect(input(z.string().nullish())).toEqual({ type: 'string' });
    expect(input(z.union([z.null(), z.array(z.string()), z.string()]))).toEqual({
      type: 'array',
      items: { type: 'string' },
    });
    expect(input(z.union([z.string(), z.number()]).describe('One'))).toEqual({ type: 'string', description: 'One' });
  });

  it('turns literals and enums into string enums without the empty string', () => {
    expect(input(z.enum(['', 'a', 'b']))).toEqual({ type: 'string', enum: ['a', 'b'] });
    expect(input(z.literal('x'))).toEqual({ type: 'string', enum: ['x'] });
    expect(input(z.literal(3))).toEqual({ type: 'number' });
  });

  it('makes any JSON text where it is a field, and an object where it is an item', () => {
    expect(input(Json)).toEqual({ type: 'string' });
    expect(input(Json.describe('Value'))).toEqual({ type: 'string', description: 'Value' });
    expect(input(z.array(Json))).toEqual({ type: 'array', items: { type: 'object' } });
    expect(input(AnyObject)).toEqual({ type: 'object' });
  });

  it('drops tuples, patterns, lengths, formats and defaults', () => {
    expect(input(z.tuple([z.string(), z.number()]))).toEqual({ type: 'array', items: { type: 'string' } });
    expect(input(z.string().regex(/^a/).min(1).max(9))).toEqual({ type: 'string' });
    expect(input(z.email())).toEqual({ type: 'string' });
    expect(input(z.string().default('x'))).toEqual({ type: 'string' });
  });

  it('cuts a large nested object to an object with a text for its fields', () => {
    const fields = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`field_number_${index}`, z.string()]));
    const cut = input(z.array(z.object(fields)).describe('Many'));
    expect(cut).toMatchObject({ type: 'array', description: 'Many', items: { type: 'object' } });
    expect(cut?.items?.description).toMatch(/^\{field_number_0, field_number_1, .*\}$/);
    expect(cut?.items).not.toHaveProperty('properties');
  });

  it('marks optional fields in that text', () => {
    const long = z.string().describe('x'.repeat(400));
    const cut = input(z.object({ a: long, b: z.enum(['X', 'Y']).optional(), c: z.array(z.object({ d: z.string() })) }));
    expect(cut?.description).toBe('{a, b?: X|Y, c: {d}[]}');
  });

  it('lists required arguments and refuses others', () => {
    expect(inputSchema({ a: z.string(), b: z.string().optional() })).toEqual({
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    });
    expect(inputSchema({})).toEqual({ type: 'object', properties: {}, additionalProperties: false });
  });
});

describe('outputSchema()', () => {
  it('lists what names a thing, at most two fields, by type', () => {
    const shape = resource({
      size: z.int(),
      state: z.string(),
      tags: z.array(z.string()),
      name: z.string(),
      any: Json,
    });
    expect(outputSchema(shape.shape)).toEqual({
      type: 'object',
      properties: { name: { type: 'string' } },
      additionalProperties: true,
    });
    const many = resource({ status: z.string(), version: z.string(), name: z.string(), id: z.string() });
    expect(Object.keys(outputSchema(many.shape).properties ?? {})).toEqual(['id', 'name']);
  });

  it('leaves out a field whose values may have several types', () => {
    expect(outputSchema({ name: z.union([z.string(), z.number()]).nullish() }).properties).toEqual({});
  });
});
