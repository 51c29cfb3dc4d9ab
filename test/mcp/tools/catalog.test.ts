import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { contract, OPERATIONS } from '../../../src/contract/contract.ts';
import type { Row } from '../../../src/contract/row.ts';
import { readArguments } from '../../../src/mcp/tools/arguments.ts';
import { argumentsOf, resultKindOf, rowTools, toolName } from '../../../src/mcp/tools/catalog.ts';
import { tools } from '../../../src/mcp/tools/tools.ts';

const listings = [...tools().values()].map((tool) => tool.listing);

const row = (part: Partial<Row>): Row => ({
  number: 0,
  method: 'POST',
  path: '/v1/things/{thing}',
  title: 'Thing',
  summary: 'Thing.',
  effect: 'read',
  role: 'read-only',
  params: z.object({ thing: z.string() }),
  result: z.object({ name: z.string() }),
  ...part,
});

describe('the tool table', () => {
  it('has one tool per row, in the order of the contract, after those that are no endpoints', () => {
    const names = listings.map((listing) => listing.name);
    expect(names.slice(-OPERATIONS.length)).toEqual(OPERATIONS.map(toolName));
    expect(names.slice(0, -OPERATIONS.length)).toEqual(
      expect.arrayContaining(['describe_collection', 'compare_lambda_versions', 'get_docs']),
    );
  });

  it('sets all four annotations from the effect', () => {
    for (const [operation, entry] of Object.entries(contract)) {
      const { annotations } = rowTools().get(toolName(operation))?.listing ?? {};
      expect(annotations).toEqual({
        readOnlyHint: entry.effect === 'read',
        destructiveHint: entry.effect === 'update' || entry.effect === 'delete',
        idempotentHint: entry.effect === 'read' || entry.effect === 'delete',
        openWorldHint: false,
      });
    }
  });

  it('says of every delete that a human is asked, and has no argument to confirm it', () => {
    for (const { row: entry, listing } of rowTools().values()) {
      if (entry.effect !== 'delete') continue;
      expect(listing.description).toContain('A human is asked first');
      expect(Object.keys(listing.inputSchema.properties ?? {})).not.toContain('confirm');
    }
  });

  it('guards every tool that deletes, and no other', () => {
    for (const tool of tools().values()) expect(tool.blast !== undefined).toBe(tool.effect === 'delete');
  });

  it('asks for the value of a parameter as text, and takes any', () => {
    const { inputSchema } = rowTools().get('run_query')?.listing ?? {};
    const value = inputSchema?.properties?.['parameters']?.items?.properties?.['value'];
    expect(value).toMatchObject({ type: 'string' });
    const parameters = ['text', 1, 1.5, true, [1], { a: 1 }, null].map((value) => ({ name: 'p', value }));
    const tool = rowTools().get('run_query');
    expect(readArguments('run_query', tool?.arguments ?? [], { query: 'SELECT 1', parameters })).toMatchObject({
      sql: { parameters },
    });
  });
});

describe('argumentsOf()', () => {
  it('flattens a body whose only field is an object', () => {
    const found = argumentsOf(row({ body: z.object({ sql: z.object({ query: z.string() }) }) }));
    expect(found.map(({ name, field, into }) => [name, field, into])).toEqual([
      ['thing', 'thing', undefined],
      ['query', 'query', 'sql'],
    ]);
  });

  it('prefixes a flattened field whose name is taken', () => {
    const found = argumentsOf(contract.validateQuery);
    expect(found.map(({ name }) => name)).toContain('sql_parameters');
    expect(found.find(({ name }) => name === 'parameters')?.into).toBeUndefined();
  });

  it('makes the fields of an optional object optional', () => {
    const found = argumentsOf(row({ body: z.object({ sql: z.object({ query: z.string() }).optional() }) }));
    expect(found[1]?.schema.safeParse(undefined).success).toBe(true);
  });

  it('leaves a body of several fields as it is', () => {
    const found = argumentsOf(row({ body: z.object({ name: z.string(), sql: z.object({ query: z.string() }) }) }));
    expect(found.map(({ name }) => name)).toEqual(['thing', 'name', 'sql']);
  });
});

describe('resultKindOf()', () => {
  it('tells rows, writes, lists and single things apart by their shape', () => {
    expect(resultKindOf(contract.runQuery)).toBe('rows');
    expect(resultKindOf(contract.addDocuments)).toBe('writes');
    expect(resultKindOf(contract.listWorkspaces)).toBe('list');
    expect(resultKindOf(contract.getCollection)).toBe('object');
  });
});
