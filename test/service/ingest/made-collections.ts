import { afterAll, beforeAll, expect } from 'vitest';
import { type Answer, startTestService, type TestService } from '../harness.ts';

export const COLLECTIONS = '/v1/orgs/self/ws/commons/collections';

/** A service for the tests of a file, which make collections there. */
export function madeCollections() {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service.remove());
  let count = 0;
  const call: TestService['call'] = (...request) => service.call(...request);
  return {
    call,
    /** A new collection with these settings: its name. */
    async create(settings: object): Promise<string> {
      const name = `made${++count}`;
      const answer = await call('POST', COLLECTIONS, { name, ...settings });
      expect(answer.text).toContain('"CREATED"');
      return name;
    },
    async select(query: string): Promise<Record<string, unknown>[]> {
      const answer = await call('POST', '/v1/orgs/self/queries', { sql: { query } });
      expect(answer.body).toHaveProperty('results');
      return answer.body.results;
    },
  };
}

export const statuses = (answer: Answer) => answer.body.data.map((row: { status: string }) => row.status);
