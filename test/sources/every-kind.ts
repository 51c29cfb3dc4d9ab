import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KilledService, startKilledService } from './killed-service.ts';
import type { KindUnderTest, RunningKind } from './kinds/kind.ts';
import { type FaultProxy, startFaultProxy } from './servers/fault-proxy.ts';
import { ITEMS, type SourceService, startSourceService, until } from './source-tests.ts';

/** Sources that are read at once by a service that is killed. */
const SOURCES = 10;
const KILL_MS = 1_500;
const KILLS_MIN = 4;
/** Changes after each of which a query asks for it: with few items, lags are only looked at for what is far too long. */
const CHANGES = ITEMS < 100_000 ? 6 : 20;
const LAG_MS_MAX = 10_000;

const countIn = (row: unknown) => (row as { n?: number } | undefined)?.n;

/** Tries what a source of any kind does. */
export function tryKind({ kind, lacks, start, itemsMax = ITEMS }: KindUnderTest): void {
  const items = Math.min(ITEMS, itemsMax);
  describe(kind, () => {
    let server: RunningKind;
    let proxy: FaultProxy;
    let service: SourceService;
    let killed: KilledService | undefined;

    beforeAll(async () => {
      proxy = await startFaultProxy(() => (server.behind ?? server.port)());
      server = await start(proxy.port);
      service = await startSourceService();
      await service.createIntegration('direct', kind, server.connection(server.port()));
      await service.createIntegration('weak', kind, server.connection(proxy.port));
    });
    afterAll(async () => {
      await killed?.close();
      await service?.remove();
      await proxy?.close();
      await server?.close();
    });

    /** A test of what the kind has, and none where it lacks it. */
    const itWith = (what: (typeof lacks)[number]) =>
      lacks.includes(what) ? (_title: string, _test: () => Promise<void>) => undefined : it;

    const sourceOf = (place: string, integration = 'direct') => {
      const { format_params, ...settings } = server.source(place);
      return {
        integration_name: integration,
        [kind]: settings,
        ...(format_params === undefined ? {} : { format_params }),
      };
    };

    async function create(place: string, integration?: string, more = {}): Promise<void> {
      const answer = await service.createCollection(place, { ...sourceOf(place, integration), ...more });
      expect(answer.text).toContain('"status":"CREATED"');
    }

    const isActive = (one: { source: { status: { state: string } } }) => one.source.status.state === 'ACTIVE';
    const sumsOf = (place: string) =>
      `SELECT count(*) AS n, count(DISTINCT n) AS d, sum(v)::BIGINT AS s FROM commons.${place}`;
    const sumTo = (count: number) => (count * (count + 1)) / 2;

    it('reads all that is there as fast as it can, then changes within two seconds', async () => {
      await server.fill('whole', items);
      const bareFrom = performance.now();
      expect(await server.bare('whole', items)).toBe(items);
      const bareMs = performance.now() - bareFrom;
      const from = performance.now();
      await create('whole');
      await until(() => service.source('whole'), isActive, 300);
      const ms = performance.now() - from;
      expect(await service.rows(sumsOf('whole'))).toEqual([{ n: items, d: items, s: sumTo(items) }]);
      const lags: number[] = [];
      for (let i = 1; i <= CHANGES; i++) {
        const changedAt = performance.now();
        await server.change('whole', i, -i);
        await until(
          () => service.rows(`SELECT count(*) AS n FROM commons.whole WHERE v = -${i}`),
          ([row]) => countIn(row) === 1,
          30,
        );
        lags.push(performance.now() - changedAt);
      }
      lags.sort((a, b) => a - b);
      const most = lags.at(-1) ?? 0;
      process.stdout.write(
        `${kind}: ${items} items in ${Math.round(ms)} ms, ${Math.round((items / ms) * 1_000)}/s, ${(bareMs / ms).toFixed(2)} of the client alone; a change is seen after ${Math.round(lags[CHANGES / 2] ?? 0)} ms (median), ${Math.round(most)} ms at most\n`,
      );
      expect(most).toBeLessThan(LAG_MS_MAX);
      const { source } = await service.source('whole');
      expect(source.status.total_error_items).toBe(0);
      expect(source.status.total_processed_items).toBeGreaterThanOrEqual(items + CHANGES);
    });

    itWith('remove')('takes away what is deleted there', async () => {
      await server.remove?.('whole', items);
      await until(
        () => service.rows(`SELECT count(*) AS n FROM commons.whole WHERE n = ${items}`),
        ([row]) => countIn(row) === 0,
      );
    });

    itWith('spoil')('keeps an item that is no document where it is found, and goes on', async () => {
      await server.fill('spoilt', 5);
      await create('spoilt');
      await until(
        () => service.count('spoilt'),
        (n) => n === 5,
      );
      await server.spoil?.('spoilt');
      const { refused } = await until(
        () => service.source('spoilt'),
        (one) => one.source.status.total_error_items === 1,
      );
      expect(refused).toMatchObject([{ item: expect.any(String), reason: expect.any(String) }]);
      await server.change('spoilt', 1, -1);
      await until(
        () => service.rows('SELECT count(*) AS n FROM commons.spoilt WHERE v = -1'),
        ([row]) => countIn(row) === 1,
      );
    });

    it('goes on by itself after outages, slow and broken connections, and a restart of the server', async () => {
      await server.fill('weak', items);
      proxy.setDelay(2);
      // A line that breaks while the settings are checked is an error of that.
      await create('weak', 'weak');
      const cuts = setInterval(() => proxy.cut(), 700);
      try {
        await delay(3_000);
      } finally {
        clearInterval(cuts);
        proxy.setDelay(0);
      }
      await until(() => service.source('weak'), isActive, 120);
      proxy.setDown(true);
      const { source } = await until(
        () => service.source('weak'),
        (one) => one.source.status.state === 'WAITING',
        90,
      );
      expect(source.status.last_error_reason.length).toBeGreaterThan(20);
      await server.change('weak', 1, -1);
      proxy.setDown(false);
      const isSeen = (v: number) =>
        until(
          () => service.rows(`SELECT count(*) AS n FROM commons.weak WHERE v = ${v}`),
          ([row]) => countIn(row) === 1,
          90,
        );
      await isSeen(-1);
      if (server.restart !== undefined) {
        await server.restart();
        await server.change('weak', 2, -2);
        await isSeen(-2);
      }
      const appended = server.appends ? (server.restart === undefined ? 1 : 2) : 0;
      expect(await service.count('weak')).toBe(items + appended);
    });

    itWith('wrong')('refuses a wrong key when the collection is made, and tells no secret', async () => {
      await service.createIntegration('wrong', kind, server.wrong?.(server.port()));
      const answer = await service.createCollection('wrong', sourceOf('whole', 'wrong'));
      expect(answer.status).toBe(400);
      expect(answer.body.message).toContain('cannot be read');
      expect(answer.text + JSON.stringify(service.lines)).not.toContain('wrong-secret');
    });

    it('is read whole and nothing twice by a service that is killed again and again, ten at once', async () => {
      killed = await startKilledService();
      const { call } = killed;
      await call('POST', '/v1/orgs/self/integrations', { name: 'direct', [kind]: server.connection(server.port()) });
      const places = Array.from({ length: SOURCES }, (_, at) => `killed${at}`);
      const each = Math.max(100, Math.round(items / 3));
      for (const place of places) {
        await server.fill(place, each);
        const made = await call('POST', '/v1/orgs/self/ws/commons/collections', {
          name: place,
          sources: [sourceOf(place)],
        });
        expect(made?.data?.status, JSON.stringify(made)).toBe('CREATED');
      }
      const expected = new Map(places.map((place) => [place, { n: each, s: sumTo(each) }]));
      let kills = 0;
      while (kills < KILLS_MIN || !(await killed.isThrough(SOURCES))) {
        await delay(KILL_MS);
        const place = places[kills % SOURCES] ?? '';
        const n = kills + 1;
        // A change while nobody looks, to be met by the next.
        await server.change(place, n, -n);
        const before = expected.get(place) ?? { n: 0, s: 0 };
        expected.set(
          place,
          server.appends ? { n: before.n + 1, s: before.s - n } : { n: before.n, s: before.s - 2 * n },
        );
        await killed.killed();
        kills += 1;
        // Those that need longer than from kill to kill are left alone in the end.
        if (kills >= 40) await until(() => killed?.isThrough(SOURCES) ?? Promise.resolve(false), Boolean, 120);
      }
      for (const [place, { n, s }] of expected) {
        const there = async () =>
          (
            await killed?.query(
              `SELECT count(*) AS n, count(DISTINCT _id) AS d, sum(v)::BIGINT AS s FROM commons.${place}`,
            )
          )?.[0];
        await until(there, (row) => row?.n === n && row?.d === n && row?.s === s, 30);
      }
      process.stdout.write(`${kind}: ${kills} kills, ${SOURCES} sources of ${each} items\n`);
    });
  });
}
