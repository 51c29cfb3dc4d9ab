import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { HOSTILE_BODIES, HOSTILE_SETUP } from '../test/hostile-bodies.ts';
import { HOSTILE_REQUESTS } from '../test/hostile-requests.ts';
import { type LocalService, startService, stopService } from './local-service.ts';
import { ms, quantile } from './measure.ts';
import { type Probe, startProbe } from './probe.ts';

export const GOAL_MS = 250;
const HELD_GOAL_MS = 50;
/** How long an attack may take before its connection is closed. */
const ATTACK_MS = 20_000;
const DOCUMENTS = 10_000;
/** How much of an answer is kept: all of those that are read here. */
const KEPT_CHUNKS = 100;
export const ORGANIZATION = '/v1/orgs/self';

interface Attack {
  name: string;
  method: string;
  path: string;
  key: string;
  body: () => Buffer;
}

export interface Target {
  port: number;
  admin: string;
  readOnly: string;
  member: string;
  /** Another member. */
  writer: string;
}

async function call(target: Target, method: string, path: string, body: unknown): Promise<{ data: { key: string } }> {
  const { admin: key } = target;
  const { text, status } = await send(target.port, { method, path, key, body: Buffer.from(JSON.stringify(body)) });
  if (status !== 200) throw new Error(`${method} ${path}: ${text}`);
  return JSON.parse(text);
}

export function send(
  port: number,
  { method, path, key, body }: Omit<Attack, 'name' | 'body'> & { body: Buffer },
  giveUpMs = ATTACK_MS,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve) => {
    const headers = {
      authorization: `ApiKey ${key}`,
      'content-type': 'application/json',
      'content-length': body.length,
    };
    const sent = request({ port, path, method, headers, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.length < KEPT_CHUNKS && chunks.push(chunk));
      answer.once('close', () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    });
    sent.once('error', (error) => resolve({ status: 0, text: error.message }));
    sent.setTimeout(giveUpMs, () => sent.destroy(new Error('given up')));
    setTimeout(() => sent.destroy(new Error('given up')), giveUpMs).unref();
    sent.end(body);
  });
}

export async function prepare({ url }: LocalService, folder: string): Promise<Target> {
  const admin = (await readFile(join(folder, 'admin.key'), 'utf8')).trim();
  const target = { port: Number(url.port), admin, readOnly: '', member: '', writer: '' };
  await call(target, 'POST', `${ORGANIZATION}/ws/commons/collections`, { name: 'orders' });
  const data = Array.from({ length: DOCUMENTS }, (_, id) => ({ _id: `${id}`, name: `order ${id}`, amount: id / 7 }));
  await call(target, 'POST', `${ORGANIZATION}/ws/commons/collections/orders/docs`, { data });
  for (const { path, body } of HOSTILE_SETUP) await call(target, 'POST', path, body);
  for (const [name, role] of [
    ['readOnly', 'read-only'],
    ['member', 'member'],
    ['writer', 'member'],
  ] as const) {
    await call(target, 'POST', `${ORGANIZATION}/users`, { email: `${name}@example.com`, roles: [role] });
    const { data } = await call(target, 'POST', `${ORGANIZATION}/users/${name}@example.com/apikeys`, { name: 'bench' });
    target[name] = data.key;
  }
  return target;
}

function attacksOn({ readOnly, member, admin }: Target): Attack[] {
  const keys = { 'read-only': readOnly, member, admin };
  return [
    ...HOSTILE_REQUESTS.map(([name, body]) => ({
      name,
      method: 'POST',
      path: `${ORGANIZATION}/queries`,
      key: readOnly,
      body: () => Buffer.from(JSON.stringify(body())),
    })),
    ...HOSTILE_BODIES.map(([name, { role, ...rest }]) => ({ name, key: keys[role], ...rest })),
  ];
}

/** The longest time that the service's thread was held since the last call, in milliseconds. */
export async function heldMs({ child }: LocalService): Promise<number> {
  const told = child.stdio[3];
  if (!(told instanceof Readable)) throw new Error('the service does not measure its thread');
  const answered = Promise.race([once(told, 'data'), once(child, 'exit')]);
  child.kill('SIGUSR2');
  return Number((await answered)[0]);
}

/**
 * (n) How long another client's `SELECT 1` waits during each hostile request, and how long the thread is held in one go; a
 * service that hangs or ends is replaced. `watcher` measures the latter.
 */
export async function benchHostile(bin: string, parent: string, watcher: string): Promise<void> {
  console.log(
    `\n(n) another client's SELECT 1 during a hostile request; goal ${GOAL_MS} ms; its thread held, ${HELD_GOAL_MS} ms`,
  );
  console.log(
    `  ${''.padEnd(60)} ${['status', 'took', 'worst wait', 'held'].map((name) => name.padStart(11)).join(' ')}`,
  );
  const worst: number[] = [];
  const helds: number[] = [];
  let deaths = 0;
  let count = 0;
  let run: { service: LocalService; target: Target; probe: Probe } | undefined;
  for (let index = 0; ; index += 1) {
    if (run === undefined) {
      const folder = join(parent, `hostile-${index}`);
      const service = await startService(bin, folder, watcher);
      const target = await prepare(service, folder);
      const probe = startProbe(target.port, target.member);
      run = { service, target, probe };
    }
    const attack = attacksOn(run.target)[index];
    if (attack === undefined) break;
    const body = attack.body();
    await run.probe.waits();
    await heldMs(run.service);
    const startedAt = performance.now();
    const { status, text } = await send(run.target.port, { ...attack, body });
    const tookMs = performance.now() - startedAt;
    // What the attack leaves behind may hold the thread as well.
    await new Promise((resolve) => setTimeout(resolve, 300));
    const waits = await run.probe.waits();
    const wait = Math.max(...waits.map(Math.abs));
    const isDead = run.service.child.exitCode !== null || run.service.child.signalCode !== null;
    worst.push(wait);
    const held = isDead ? 0 : await heldMs(run.service);
    helds.push(held);
    count += 1;
    const isFailing = waits.some((one) => one < 0);
    const note = isDead ? '  the process ended' : isFailing ? '  the other request failed' : '';
    const how = status === 0 ? text.slice(0, 11) : String(status);
    const over = wait > GOAL_MS || held > HELD_GOAL_MS ? ' *' : '';
    console.log(
      `  ${attack.name.slice(0, 60).padEnd(60)} ${[how, ms(tookMs), ms(wait), ms(held) + over].map((cell) => cell.padStart(11)).join(' ')}${note}`,
    );
    if (!isDead && !isFailing && status !== 0) continue;
    deaths += isDead ? 1 : 0;
    await run.probe.stop();
    run.service.child.kill('SIGKILL');
    run = undefined;
  }
  await run?.probe.stop();
  if (run !== undefined) await stopService(run.service);
  const overs = [worst.filter((wait) => wait > GOAL_MS), helds.filter((held) => held > HELD_GOAL_MS)];
  const row = (of: readonly number[], index: number) =>
    `p50 ${ms(quantile(of, 0.5))}, worst ${ms(Math.max(...of))}, ${overs[index]?.length} over the goal`;
  console.log(`  ${count} requests, ${deaths} process deaths; wait: ${row(worst, 0)}; thread held: ${row(helds, 1)}`);
}
