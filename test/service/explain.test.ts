import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Client, createClient } from '../../src/http/client.ts';
import { startTestService, type TestService } from './harness.ts';

let service: TestService;
let client: Client;
beforeAll(async () => {
  service = await startTestService();
  client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
  for (const name of ['orders', 'a-customer-collection-with-a-long-name']) {
    await client.createCollection({ workspace: 'commons', name });
    await client.addDocuments({ workspace: 'commons', collection: name, data: [{ a: 1, c: 'x' }] });
  }
});
afterAll(async () => {
  await client.close();
  await service.remove();
});

const JOIN = 'SELECT o.a FROM orders o JOIN "a-customer-collection-with-a-long-name" c ON c.a = o.a WHERE o.a > 0';

it.each([
  '',
  'ANALYZE',
  '(FORMAT json)',
  '(FORMAT yaml)',
  '(FORMAT html)',
  '(FORMAT graphviz)',
  '(ANALYZE, FORMAT json)',
])('a plan by EXPLAIN %s names nothing that lies under a collection', async (format) => {
  for (const sql of ['SELECT a FROM orders', JOIN]) {
    const { results } = await client.runQuery({ sql: { query: `EXPLAIN ${format} ${sql}` } });
    const text = (results ?? []).flatMap((row) => Object.values(row)).join('\n');
    expect(text).toContain('collection');
    expect(text).not.toMatch(/_colloquy|_data\b|c_[0-9a-f]{6}|s3:|parquet/);
    // The box drawn around the collection's name keeps its width.
    const drawn = text.split('\n');
    const at = drawn.findIndex((line) => /│.*collection.*│/.test(line));
    if (at >= 0) expect([...(drawn[at] ?? '')].length).toBe([...(drawn[at - 1] ?? '')].length);
  }
});
