import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { contract, OPERATIONS } from '../../src/contract/contract.ts';
import type { Row } from '../../src/contract/row.ts';
import { argumentsOf, resultKindOf, rowTools, toolName } from '../../src/mcp/catalog.ts';
import { tools } from '../../src/mcp/tools.ts';

const listings = [...tools().values()].map((tool) => tool.listing);

function walk(node: unknown, visit: (node: Record<string, unknown>) => void): void {
  if (typeof node !== 'object' || node === null) return;
  if (!Array.isArray(node)) visit(node as Record<string, unknown>);
  for (const child of Object.values(node)) walk(child, visit);
}

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
  envelope: 'data',
  ...part,
});

describe('the tool table', () => {
  it('has one tool per row, in the order of the contract, after those that are no endpoints', () => {
    const names = listings.map((listing) => listing.name);
    expect(names.slice(-OPERATIONS.length)).toEqual(OPERATIONS.map(toolName));
    expect(names.slice(0, 3)).toEqual(['describe_collection', 'compare_lambda_versions', 'get_docs']);
  });

  it('has names of at most 40 characters in snake case', () => {
    for (const { name } of listings) expect(name).toMatch(/^[a-z][a-z_]{2,39}$/);
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

  it.each(listings)('$name: has schemas that every provider accepts', ({ inputSchema, outputSchema }) => {
    expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
    expect(outputSchema.type).toBe('object');
    const text = JSON.stringify([inputSchema, outputSchema]);
    expect(text).not.toMatch(/"(\$schema|\$ref|anyOf|oneOf|allOf|prefixItems|pattern|const|default|format)":/);
    expect(text).not.toContain('9007199254740991');
    for (const schema of Object.values(inputSchema.properties ?? {})) {
      walk(schema, (node) => {
        if ('properties' in node || 'items' in node || 'enum' in node) expect(typeof node['type']).toBe('string');
        if (Array.isArray(node['enum'])) {
          for (const value of node['enum']) expect(value).toMatch(/./);
        }
        if (node['type'] === 'array') expect(node).toHaveProperty('items.type');
      });
    }
  });

  it('lets the value of a parameter be of any type', () => {
    const { inputSchema } = rowTools().get('run_query')?.listing ?? {};
    const value = inputSchema?.properties?.['parameters']?.items?.properties?.['value'];
    expect(value).toEqual({ description: 'Text, number, boolean or JSON' });
  });

  it.each(listings)('$name: requires nothing of its output, since clients check errors against it too', (listing) => {
    expect(listing.outputSchema).not.toHaveProperty('required');
  });

  it('stays within the budget, at about four characters a token', () => {
    const sizes = listings.map((listing) => JSON.stringify(listing).length / 4);
    expect(Math.max(...sizes)).toBeLessThan(430);
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
