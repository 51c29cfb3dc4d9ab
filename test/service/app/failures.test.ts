import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { ApiError, type ErrorCode } from '../../../src/contract/errors.ts';
import { type Engine, NOT_SHARED } from '../../../src/engine/engine.ts';
import { openKeyAccess } from '../../../src/service/access/key-access.ts';
import { type AppContext, buildApp } from '../../../src/service/app/app.ts';
import { noSuchEndpoint, toApiError } from '../../../src/service/app/failures.ts';
import { createLifecycle } from '../../../src/service/app/lifecycle.ts';
import { createApprovalDesk } from '../../../src/service/approvals/approval-desk.ts';
import { openCatalog } from '../../../src/service/catalog/catalog.ts';
import { createClock } from '../../../src/service/clock.ts';
import { createSelections } from '../../../src/service/collections/selections.ts';
import { openUsage } from '../../../src/service/compute/usage.ts';
import { openSecrets } from '../../../src/service/integrations/secrets.ts';
import { createLambdaStates } from '../../../src/service/lambdas/lambda-states.ts';
import { openLambdaStats } from '../../../src/service/lambdas/lambda-stats.ts';
import { createPairedBrowsers } from '../../../src/service/pages/paired-browsers.ts';
import { createQueryLog } from '../../../src/service/queries/query-log.ts';
import { createCollectionFiles } from '../../../src/service/results/collection-files.ts';
import { createKeptResults } from '../../../src/service/results/kept-results.ts';
import { createResultFiles } from '../../../src/service/results/result-files.ts';
import { createSources } from '../../../src/service/sources/sources.ts';
import { createOutlasting, createSupervision } from '../../../src/service/supervision/supervision.ts';
import { createTrash } from '../../../src/service/trash/trash-entries.ts';
import { ERROR_KEYS, keysOf } from '../shapes.ts';

function capture() {
  const lines: Record<string, unknown>[] = [];
  return { lines, log: pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) }) };
}

describe('toApiError()', () => {
  it('hides what is unexpected behind a trace id, and logs it with its cause', () => {
    const { lines, log } = capture();
    const error = toApiError(new Error('secret detail', { cause: new Error('deeper') }), log, 'trace-1');
    expect([error.code, error.status]).toEqual(['internal', 500]);
    expect(error.message).toContain('"trace-1"');
    expect(error.message).not.toContain('secret');
    expect(lines).toHaveLength(1);
    expect(JSON.stringify(lines)).toContain('deeper');
    expect(lines[0]).toMatchObject({ trace_id: 'trace-1', level: 50 });
  });

  it.each([undefined, null, 'text', 7, { message: 'x', statusCode: 200 }])('survives that %j was thrown', (thrown) => {
    expect(toApiError(thrown, capture().log, 't').code).toBe('internal');
  });

  it.each<ErrorCode>([
    'invalid_input',
    'query_error',
    'query_timeout',
    'resource_exceeded',
    'storage_full',
    'not_ready',
  ])('passes %s on as it is, and logs nothing', (code) => {
    const { lines, log } = capture();
    const error = new ApiError(code, 'why');
    expect(toApiError(error, log, 't')).toBe(error);
    expect(lines).toEqual([]);
  });

  it('a query that was aborted is told to come again', () => {
    expect(toApiError(new ApiError('aborted', 'x'), capture().log, 't').code).toBe('not_ready');
  });

  it.each<ErrorCode>(['connection_failed', 'request_timeout', 'contract_mismatch', 'response_too_large'])(
    'does not pass on %s, which has no status',
    (code) => {
      expect(toApiError(new ApiError(code, 'x'), capture().log, 't').code).toBe('internal');
    },
  );
});

describe('noSuchEndpoint()', () => {
  it('leaves the query string out of the message, and cuts a long path', () => {
    expect(noSuchEndpoint('GET', '/x?apiKey=hidden').message).not.toContain('hidden');
    expect(noSuchEndpoint('GET', `/${'x'.repeat(5_000)}`).message.length).toBeLessThan(400);
  });
});

describe('buildApp() before the service is ready', () => {
  function app() {
    const results = { exportsFolder: '/nowhere' };
    const engine = { ...NOT_SHARED, records: [], commit: async () => undefined, results } as unknown as Engine;
    const { log } = capture();
    const catalog = openCatalog(engine);
    const lifecycle = createLifecycle({ onIdle: () => undefined });
    const ctx: AppContext = {
      engine,
      catalog,
      usage: openUsage(catalog, log),
      keyAccess: openKeyAccess(catalog, log),
      compute: {
        machine: { threads: 1, memoryBytes: 0, memoryBytesMax: 0 },
        size: 'LARGE',
        resize: async () => undefined,
      },
      secrets: openSecrets(''),
      sources: createSources({ engine, catalog, usage: openUsage(catalog, log), connectionOf: async () => ({}), log }),
      lambdaStates: createLambdaStates({ engine, catalog, versions: '', log }),
      supervision: createSupervision({ files: undefined, engine, outlasting: createOutlasting(), versions: '', log }),
      lambdaStats: openLambdaStats(catalog, log),
      selections: createSelections({ hold: () => () => undefined }),
      backups: { create: () => Promise.reject(new Error('unused')), running: () => [] },
      approvals: createApprovalDesk({ hold: () => lifecycle.hold() }),
      pageServer: {
        urlOf: async () => undefined,
        pairingUrlOf: async () => undefined,
        close: async () => undefined,
      },
      pairedBrowsers: createPairedBrowsers({ catalog, place: '', hold: () => () => undefined }),
      queryLog: createQueryLog(),
      trash: createTrash(0, Date.now, NOT_SHARED),
      clock: createClock(catalog, log),
      results: createKeptResults(engine, log),
      resultFiles: createResultFiles(engine, log),
      collectionFiles: createCollectionFiles({ engine, log, hold: () => () => undefined }),
      log,
      version: '0.0.1',
      build: undefined,
      isForeground: false,
      nextOffset: () => '0',
      lifecycle,
      cors: false,
      trustedProxies: [],
      localSockets: new WeakSet(),
      leave: () => undefined,
      mounts: [],
    };
    return { app: buildApp(ctx), lifecycle };
  }

  it.each(['/ready', '/v1/orgs/self', '/v1/orgs/self/ws'])(
    '%s is 503 while it starts and while it closes',
    async (url) => {
      const { app: server, lifecycle } = app();
      for (const phase of ['starting', 'closing']) {
        const answer = await server.inject({ url });
        expect(answer.statusCode).toBe(503);
        expect(keysOf(answer.json())).toEqual(ERROR_KEYS);
        expect(answer.json()).toMatchObject({ type: 'NOT_READY', message: expect.stringContaining(phase) });
        expect(answer.headers['retry-after']).toBe('1');
        lifecycle.close();
      }
    },
  );

  it.each(['/', '/health'])('%s answers', async (url) => {
    expect((await app().app.inject({ url })).statusCode).toBe(200);
  });
});
