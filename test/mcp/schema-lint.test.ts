import { describe, expect, it } from 'vitest';
import { administer, authorLambda, exploreData } from '../../src/mcp/prompt-texts.ts';
import { TAKEN_ARGUMENTS } from '../../src/mcp/tools/lambda-names.ts';
import { LAMBDA_TOOLS_MAX } from '../../src/mcp/tools/lambda-tools.ts';
import type { Schema } from '../../src/mcp/tools/schemas.ts';
import { tools } from '../../src/mcp/tools/tools.ts';
import { oddLambdaTools } from './tagged-lambdas.ts';

/**
 * What client libraries and model providers need of a listing, each rule with those that it is for. The libraries
 * themselves are driven by `npm run clients:libraries`.
 */

const builtIn = [...tools().values()].map(({ listing }) => listing);
const ofLambdas = Array.from((await oddLambdaTools()).tools.values(), ({ listing }) => listing);
const listings = [...builtIn, ...ofLambdas];

/** OpenAI and VS Code take no more tools at once. */
const TOOLS_MAX = 128;
/** OpenAI cuts or refuses a function's longer description. */
const DESCRIPTION_CHARS_MAX = 1_024;
/** In strict mode of OpenAI. */
const DEPTH_MAX = 5;
const ENUM_MAX = 500;

/** Other keywords are refused by some providers (Gemini knows neither references nor patterns), or understood otherwise. */
const KEYWORDS = ['type', 'description', 'properties', 'required', 'items', 'enum', 'minimum', 'maximum'];

/** Tools with objects that do not list their fields: documents, and what is too large. Strict mode cannot have these. */
const NOT_STRICT = [
  'add_documents',
  'compare_lambda_versions',
  'create_collection',
  'create_integration',
  'create_lambda',
  'create_lambda_version',
  'load_file',
  'update_integration',
  'patch_documents',
  'w_object',
];

/** All schemas within a schema, including itself, with their depth. */
function schemasIn(schema: Schema, depth = 0): { schema: Schema; depth: number }[] {
  const inner = [...Object.values(schema.properties ?? {}), ...(schema.items === undefined ? [] : [schema.items])];
  return [{ schema, depth }, ...inner.flatMap((one) => schemasIn(one, depth + 1))];
}

describe.each(listings)('$name', ({ name, description, inputSchema, outputSchema }) => {
  const { additionalProperties: inputMore, ...input } = inputSchema;
  const { additionalProperties: outputMore, ...output } = outputSchema;
  const inside = schemasIn(input);
  const all = [...inside, ...schemasIn(output)];

  it('has a name and a description within what all take', () => {
    // Clients put the server's name in front: some allow 64 characters for both, some 60.
    expect(name).toMatch(/^[A-Za-z][A-Za-z0-9_]{2,39}$/);
    expect(description.length).toBeLessThanOrEqual(DESCRIPTION_CHARS_MAX);
  });

  it('takes no other arguments (OpenAI), and its answer may have more than is listed (FastMCP, AutoGen)', () => {
    expect(inputSchema.type).toBe('object');
    expect(inputSchema.properties).toBeDefined();
    expect(inputMore).toBe(false);
    expect(outputSchema.type).toBe('object');
    // FastMCP makes a class of it, which otherwise has these fields alone: no `next`, no `warnings`, no `kept_in`.
    expect(outputMore).toBe(true);
  });

  it('requires nothing of its answer, since clients check errors against it too', () => {
    expect(outputSchema).not.toHaveProperty('required');
  });

  it('uses keywords that all know, and says of an object within neither that it is open nor that it is closed', () => {
    for (const { schema } of all) expect(KEYWORDS).toEqual(expect.arrayContaining(Object.keys(schema)));
  });

  it('gives each argument, at any depth, one type (AutoGen and mcp-use load no tool otherwise)', () => {
    for (const { schema } of inside) expect(schema).toHaveProperty('type');
    for (const { schema } of all) {
      if ('type' in schema) expect(schema.type).toMatch(/^(object|array|string|integer|number|boolean)$/);
    }
  });

  it('says of each list what its items are, and of the same kind (Gemini, OpenAI)', () => {
    for (const { schema } of inside) {
      if (schema.type === 'array') expect(schema.items).toMatchObject({ type: expect.any(String) });
    }
    for (const { schema } of all) expect(Array.isArray(schema.items)).toBe(false);
  });

  it('has enums of texts that are not empty (Gemini)', () => {
    for (const { schema } of all.filter(({ schema }) => schema.enum !== undefined)) {
      expect(schema.type).toBe('string');
      expect(schema.enum?.length).toBeLessThanOrEqual(ENUM_MAX);
      for (const value of schema.enum ?? []) expect(value).toMatch(/./);
    }
  });

  it('has bounds that are exact in every language', () => {
    for (const bound of all.flatMap(({ schema }) => [schema.minimum ?? 0, schema.maximum ?? 0])) {
      expect(Math.abs(bound)).toBeLessThan(2 ** 53 - 1);
    }
  });

  it('requires only what it lists (Gemini)', () => {
    for (const { schema } of inside) {
      expect(Object.keys(schema.properties ?? {})).toEqual(expect.arrayContaining(schema.required ?? []));
    }
  });

  it('has arguments whose names begin with a letter (pydantic) and suit Anthropic', () => {
    for (const field of inside.flatMap(({ schema }) => Object.keys(schema.properties ?? {}))) {
      expect(field).toMatch(/^[A-Za-z][A-Za-z0-9_]{0,63}$/);
      expect(field).not.toMatch(/^model_/);
    }
  });

  it('has no argument of a name that a library keeps for itself', () => {
    const taken = Object.values(TAKEN_ARGUMENTS).flat();
    for (const field of Object.keys(inputSchema.properties ?? {})) expect(taken).not.toContain(field);
  });

  it(`${NOT_STRICT.includes(name) ? 'is left out of' : 'fits'} strict mode (OpenAI)`, () => {
    const open = inside.filter(({ schema, depth }) => depth > 0 && schema.type === 'object' && !schema.properties);
    expect(open.length > 0).toBe(NOT_STRICT.includes(name));
    for (const { depth } of inside) expect(depth).toBeLessThanOrEqual(DEPTH_MAX);
  });
});

describe('the tools together', () => {
  it('are no more than a client takes', () => {
    expect(builtIn.length + LAMBDA_TOOLS_MAX).toBeLessThanOrEqual(TOOLS_MAX);
  });

  it('share no name with a prompt, which some libraries make a function too', () => {
    const names = listings.map(({ name }) => name);
    for (const { name } of [exploreData, authorLambda, administer]) expect(names).not.toContain(name);
  });
});
