import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DOCS } from '../../../src/mcp/docs/docs.ts';
import { DOC_TOPICS } from '../../../src/mcp/resources/docs-resources.ts';
import { tools } from '../../../src/mcp/tools/tools.ts';
import { startTestService, type TestService } from '../../service/harness.ts';

const TOKENS_MAX = 3_000;

interface Example {
  title: string;
  query: string;
  parameters: unknown[];
  result: { columns: string[]; rows: unknown[][] };
}

function block(text: string, language: string): string | undefined {
  return new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(text)?.[1];
}

const [beforeExamples = '', ...sections] = DOCS.sql.split(/^### /m);
const examples = sections.map((section): Example => {
  return {
    title: section.split('\n', 1)[0] ?? '',
    query: block(section, 'sql') ?? '',
    parameters: JSON.parse(block(section, 'parameters') ?? '[]'),
    result: JSON.parse(block(section, 'result') ?? '{}'),
  };
});

describe('the documentation', () => {
  it.each(DOC_TOPICS)('on %s is short enough to be read', (topic) => {
    expect(DOCS[topic].length).toBeGreaterThan(500);
    expect(countTokens(DOCS[topic])).toBeLessThanOrEqual(TOKENS_MAX);
  });

  it.each(DOC_TOPICS)('on %s names only tools that there are', (topic) => {
    const named = [...DOCS[topic].matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map((match) => match[1] ?? '');
    const verbs =
      /^(list|get|create|update|delete|run|validate|execute|add|patch|describe|compare|tag|fetch|export|load)_/;
    const missing = named.filter((name) => verbs.test(name) && !NOT_TOOLS.includes(name) && !tools().has(name));
    expect(missing).toEqual([]);
  });
});

/** SQL functions, and an argument, that are named like tools. */
const NOT_TOOLS = ['list_sum', 'list_contains', 'list_filter', 'list_path'];

describe('the examples of the documentation on SQL', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
    await service.call('POST', '/v1/orgs/self/ws', { name: 'shop' });
    await service.call('POST', '/v1/orgs/self/ws/shop/collections', { name: 'sales' });
    const data = JSON.parse(block(beforeExamples, 'json') ?? '[]');
    const { body } = await service.call('POST', '/v1/orgs/self/ws/shop/collections/sales/docs', { data });
    expect(body.data.map((document: { status: string }) => document.status)).toEqual(['ADDED', 'ADDED', 'ADDED']);
  });
  afterAll(() => service.remove());

  it('are ten', () => {
    expect(examples).toHaveLength(10);
  });

  it.each(examples)('$title', async ({ query, parameters, result }) => {
    const { status, body } = await service.call('POST', '/v1/orgs/self/queries', { sql: { query, parameters } });
    expect(status, JSON.stringify(body)).toBe(200);
    const columns = body.column_fields.map((field: { name: string }) => field.name);
    const rows = body.results.map((row: Record<string, unknown>) => columns.map((column: string) => row[column]));
    expect({ columns, rows }).toEqual(result);
  });
});
