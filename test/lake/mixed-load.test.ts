import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isLong } from '../long.ts';
import type { Served } from '../scenarios/served.ts';
import type { TestStore } from '../sources/servers/buckets.ts';
import { OWNER, type Postgres, startPostgres } from '../sources/servers/postgres.ts';
import { startVersitygw } from '../sources/servers/s3.ts';
import { type Balancer, startBalancer } from './balancer.ts';
import { createCaller } from './mixed-load/caller.ts';
import { createWorker, HOT, type Worker } from './mixed-load/worker.ts';
import { crash, kill, type ServedLake, serveLake } from './served-lake.ts';
import { installedExtensions } from './servers.ts';

/*
 * Everything at once, over four nodes behind a balancer, while a node, PostgreSQL or the store is ended every few seconds.
 * Each client keeps a model of what it was told is stored, and asks any node.
 */

const RUN_MS = isLong ? 600_000 : 30_000;
const CLIENTS = 6;
/** How much longer it may take until so many writes were acknowledged. */
const LONGER_MS = 120_000;
const WRITES_MIN = CLIENTS * 5;
const FAULT_EVERY_MS = Number(process.env.FAULTS ?? 4_000);
const NODES = 4;

let postgres: Postgres;
let store: TestStore;
let lake: ServedLake;
let nodes: (Served & { folder: string })[];
let balancer: Balancer;

beforeAll(async () => {
  [postgres, store] = await Promise.all([startPostgres(), startVersitygw()]);
  const bucket = await store.createBucket();
  const { cloud_access_key: key, endpoint } = bucket.connection() as {
    cloud_access_key: Record<string, string>;
    endpoint: string;
  };
  lake = await serveLake({
    catalog: `postgres://${OWNER.username}:${OWNER.password}@127.0.0.1:${postgres.port}/postgres`,
    data: `s3://${bucket.name}`,
    extensions: await installedExtensions(),
    store: { keyId: key['cloud_access_key_id'] ?? '', secret: key['cloud_secret_access_key'] ?? '', endpoint },
  });
  nodes = await Promise.all(Array.from({ length: NODES }, () => lake.start(undefined, ['--threads', '1'])));
  balancer = await startBalancer(nodes.map(({ base }) => base));
});

afterAll(async () => {
  await balancer.close();
  await lake.close();
  await store.close();
  await postgres.close();
});

/** What goes wrong, and how often each happened. */
const faults: Record<string, () => Promise<void>> = {
  'a service is killed, and started again by what watches it': async () => crash(anyNode()),
  'a node is killed, and another takes its place': async () => {
    const gone = anyNode();
    kill(gone);
    const place = nodes.indexOf(gone);
    const next = await startedAgain(gone.folder);
    nodes[place] = next;
    balancer.nodes[place] = next.base;
  },
  'PostgreSQL stops at once': () => postgres.restart('immediate'),
  'the store stops': () => store.restart(),
};

function anyNode() {
  const node = nodes[Math.floor(Math.random() * nodes.length)];
  if (node === undefined) throw new Error('there are no nodes');
  return node;
}

async function startedAgain(folder: string) {
  for (let tries = 0; ; tries++) {
    try {
      return await lake.start(folder, ['--threads', '1']);
    } catch (error) {
      if (tries === 5) throw error;
      await delay(1_000);
    }
  }
}

test(
  'nothing is lost, doubled, half or stale, whatever ends in the middle',
  async () => {
    const caller = createCaller(() => ({ base: balancer.base, key: nodes[0]?.key ?? '' }));
    await caller.must('POST', '/ws/commons/collections', { name: 'docs' });
    const hot = HOT.map((_id) => ({ _id, hot: true, client: 0, n: 0 }));
    await caller.must('POST', '/ws/commons/collections/docs/docs', { data: hot });
    const workers: Worker[] = Array.from({ length: CLIENTS }, (_, index) => createWorker(caller, index));
    const until = performance.now() + RUN_MS;
    const happened = new Map<string, number>();
    const total = (key: keyof Worker['counts']) => workers.reduce((sum, { counts }) => sum + counts[key], 0);
    // A busy machine needs longer for as many writes as say anything.
    const isOn = () => {
      const now = performance.now();
      return now < until || (now < until + LONGER_MS && total('acknowledged') <= WRITES_MIN);
    };
    const working = Promise.all(workers.map((worker) => worker.run(isOn)));
    const breaking = (async () => {
      while (performance.now() < until - FAULT_EVERY_MS) {
        await delay(FAULT_EVERY_MS);
        const names = Object.keys(faults);
        const name = names[Math.floor(Math.random() * names.length)] ?? '';
        happened.set(name, (happened.get(name) ?? 0) + 1);
        await faults[name]?.();
      }
    })();
    await Promise.all([working, breaking]);
    for (const worker of workers) await worker.settle();
    process.stdout.write(
      `${total('acknowledged')} writes acknowledged, ${total('failed')} failed, ${total('unclear')} unclear; ${total('reads')} reads compared; ${[...happened].map(([name, count]) => `${count} × ${name}`).join(', ')}\n`,
    );
    expect(total('acknowledged')).toBeGreaterThan(WRITES_MIN);
    // Each node says the same in the end.
    for (const { base, key } of nodes) {
      const there = createCaller(() => ({ base, key }));
      for (const worker of workers) await worker.compare(there);
      expect(await there.rows('SELECT _id, count(*) AS n FROM docs GROUP BY _id HAVING count(*) > 1')).toEqual([]);
      expect(await there.rows(`SELECT count(*) AS n FROM docs WHERE hot`)).toEqual([{ n: HOT.length }]);
    }
  },
  RUN_MS + LONGER_MS + 300_000,
);
