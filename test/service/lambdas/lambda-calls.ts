import type { Answer, TestService } from '../harness.ts';

/** The keys of a version whose SQL binds, according to api.md. */
export const VERSION_KEYS = [
  'collections',
  'created_at',
  'created_by',
  'description',
  'name',
  'sql',
  'state',
  'stats',
  'version',
  'workspace',
];
export const STATS_KEYS = ['last_executed', 'last_executed_by', 'last_execution_error', 'last_execution_error_message'];
export const LAMBDA_KEYS = [
  'collections',
  'last_updated',
  'last_updated_by',
  'latest_version',
  'name',
  'version_count',
  'workspace',
];

export type Body = Record<string, unknown>;

/** Shortcuts for the operations of Query Lambdas. */
export function lambdaCalls(service: TestService, workspace = 'commons') {
  const ws = `/v1/orgs/self/ws/${workspace}`;
  const path = (name: string) => `${ws}/lambdas/${encodeURIComponent(name)}`;
  const call = (method: string, at: string, body?: unknown) => service.call(method, at, body);
  return {
    ws,
    path,
    call,
    create: (name: string, query: string, more: Body = {}): Promise<Answer> =>
      call('POST', `${ws}/lambdas`, { name, sql: { query }, ...more }),
    post: (name: string, body: Body): Promise<Answer> => call('POST', `${path(name)}/versions`, body),
    get: (name: string, version: string): Promise<Answer> => call('GET', `${path(name)}/versions/${version}`),
    versions: (name: string): Promise<Answer> => call('GET', `${path(name)}/versions`),
    latest: (name: string): Promise<Answer> => call('GET', `${path(name)}/tags/latest`),
    tag: (name: string, tag_name: string, version: string): Promise<Answer> =>
      call('POST', `${path(name)}/tags`, { tag_name, version }),
    run: (name: string, body?: Body, tag = 'latest'): Promise<Answer> =>
      call('POST', `${path(name)}/tags/${tag}`, body),
    add: (collection: string, ...data: Body[]): Promise<Answer> =>
      call('POST', `${ws}/collections/${collection}/docs`, { data }),
    collection: (name: string): Promise<Answer> => call('POST', `${ws}/collections`, { name }),
  };
}

/** Status and type of an answer. */
export function outcome(answer: Answer): [number, unknown] {
  return [answer.status, answer.body?.type];
}

/** The version hash in an answer. */
export function hashIn(answer: Answer): string {
  return answer.body.data.version;
}
