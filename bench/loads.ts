import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../src/http/client.ts';
import { openBaseline } from './baseline.ts';
import { type LocalService, startService, stopService } from './local-service.ts';
import { median, ms, printHeading, printRow, quantile, timeMs } from './measure.ts';

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5);
const LINES = 300_000;
const NESTED = 40_000;
const ROWS = 1_000_000;
const LARGE_BYTES = Number(process.env['BENCH_LARGE_BYTES'] ?? 2_000_000_000);

/** Random, and the same each time. */
function createRandom(): () => number {
  let seed = 1;
  return () => {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff;
    return seed / 0x7fffffff;
  };
}

const random = createRandom();
const WORDS = 'alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho'.split(' ');
const CURRENCIES = 'EUR USD GBP JPY CHF SEK NOK DKK PLN CZK HUF RON BGN TRY UAH CNY INR BRL MXN ZAR AUD'.split(' ');
const upTo = (count: number) => Math.floor(random() * count);
const cents = (max: number) => Math.round(random() * max * 100) / 100;
const word = () => WORDS[upTo(WORDS.length)] ?? '';
const words = (count: number) => Array.from({ length: count }, word).join(' ');
const time = (index: number) => new Date(1.6e12 + index * 60_000).toISOString();

/** A document of some 570 bytes. */
function plainDocument(index: number) {
  return {
    _id: `doc-${index}`,
    user: { id: index % 5_000, name: words(2), email: `u${index % 5_000}@example.com`, city: word() },
    amount: cents(1_000),
    qty: upTo(20),
    active: random() < 0.5,
    created: time(index),
    tags: [word(), word()],
    note: words(30),
    ref: `R${upTo(1e9)}`,
    score: random(),
    level: index % 7,
    comment: words(18),
  };
}

/** An order with maps, lists of objects and thirty nested fields. */
function nestedDocument(index: number) {
  const prices: Record<string, number> = {};
  for (let count = 0; count < 5; count += 1) prices[CURRENCIES[upTo(CURRENCIES.length)] ?? ''] = cents(1_000);
  const item = (_: unknown, size: number) => ({
    sku: `S${upTo(9_999)}`,
    qty: 1 + upTo(5),
    price: cents(100),
    attrs: { color: word(), size, weight: random() },
    discounts: random() < 0.3 ? [{ code: word(), pct: 5 }] : [],
  });
  return {
    _id: `o-${index}`,
    placed_at: time(index),
    customer: {
      id: index % 900,
      name: words(2),
      address: {
        street: words(2),
        zip: String(10_000 + upTo(9_000)),
        geo: { lat: random() * 90, lon: random() * 180 },
      },
      contact: { email: `u${index}@example.com`, phone: null, prefs: { news: random() < 0.5, lang: 'de' } },
    },
    items: Array.from({ length: 1 + upTo(4) }, item),
    prices,
    shipping: {
      method: word(),
      cost: cents(10),
      tracking: { code: `T${index}`, events: [{ at: time(index), what: words(2) }] },
    },
    payment: { kind: 'card', last4: String(1_000 + upTo(9_000)), ok: true, fee: random() },
    totals: { net: random() * 1_000, tax: random() * 190, items: upTo(9) },
    flags: { gift: random() < 0.1, express: random() < 0.2 },
    notes: words(20),
    meta: { source: word(), campaign: random() < 0.5 ? word() : null, v: 3 },
  };
}

function csvRow(index: number): string {
  const code = String(index % 900).padStart(5, '0');
  const day = `2024-0${1 + (index % 9)}-1${index % 10}`;
  return `${index},${words(2)},${word()},${cents(1_000)},${upTo(20)},${random() < 0.5},${time(index)},${day},${code},${random().toFixed(6)},"${words(5)}, ok",R${index}`;
}

async function writeLines(file: string, count: number, line: (index: number) => string, head = ''): Promise<void> {
  function* pieces() {
    let piece = head;
    for (let index = 0; index < count; index += 1) {
      piece += `${line(index)}\n`;
      if (piece.length < 1_000_000) continue;
      yield piece;
      piece = '';
    }
    yield piece;
  }
  await pipeline(Readable.from(pieces()), createWriteStream(file));
}

interface Case {
  name: string;
  file: string;
  format: string;
  /** What the engine's own reader is given, with full inference. */
  reader: string;
  goal: number;
}

/** Writes the files that are loaded. */
async function casesIn(folder: string): Promise<Case[]> {
  const [lines, nested, csv, parquet] = ['lines.jsonl', 'nested.jsonl', 'rows.csv', 'rows.parquet'].map((name) =>
    join(folder, name),
  ) as [string, string, string, string];
  await writeLines(lines, LINES, (index) => JSON.stringify(plainDocument(index)));
  await writeLines(nested, NESTED, (index) => JSON.stringify(nestedDocument(index)));
  await writeLines(csv, ROWS, csvRow, 'id,name,city,amount,qty,active,created,day,code,score,comment,ref\n');
  const json = (file: string) => `read_json('${file}', format='newline_delimited', sample_size=-1)`;
  const rows = `read_csv('${csv}', sample_size=-1)`;
  const engine = await openBaseline(join(folder, 'parquet.duckdb'));
  await engine.run(`COPY (SELECT * FROM ${rows}) TO '${parquet}' (FORMAT parquet)`);
  engine.close();
  return [
    { name: `JSON lines, ${LINES} of 570 B`, file: lines, format: 'jsonl', reader: json(lines), goal: 0.5 },
    { name: 'JSON with maps and lists, 50 MB', file: nested, format: 'jsonl', reader: json(nested), goal: 0.4 },
    { name: `CSV, ${ROWS} rows of 12 columns`, file: csv, format: 'csv', reader: rows, goal: 0.5 },
    {
      name: `Parquet, ${ROWS} rows`,
      file: parquet,
      format: 'parquet',
      reader: `read_parquet('${parquet}')`,
      goal: 0.5,
    },
  ];
}

/** Loads a file into a new collection. */
async function loadOnce(
  client: Client,
  name: string,
  { file, format }: Pick<Case, 'file' | 'format'>,
): Promise<number> {
  await client.createCollection({ workspace: 'bench', name, recognize_times: true });
  return timeMs(async () => {
    const body = createReadStream(file, { highWaterMark: 512 * 1024 }) as AsyncIterable<Buffer>;
    const { stopped } = await client.load({ workspace: 'bench', collection: name, format }, body);
    if (stopped !== null) throw new Error(stopped);
  });
}

/** (r) Files loaded through the service, against the engine's own reader into a table and a checkpoint. */
export async function benchLoads(bin: string, folder: string, names: readonly string[] = []): Promise<void> {
  await mkdir(folder, { recursive: true });
  const cases = await casesIn(folder);
  printHeading('(r) loads of files', 'colloquy', 'duckdb alone');
  await withService(bin, join(folder, 'data'), async ({ client }) => {
    for (const one of cases.filter(({ format }) => names.length === 0 || names.includes(format))) {
      await benchCase(client, folder, one);
    }
  });
  // In a service of its own, whose memory tells of nothing else.
  await withService(bin, join(folder, 'large'), ({ client, child }) => benchLarge(client, folder, child.pid ?? 0));
}

async function withService(bin: string, folder: string, work: (service: LocalService) => Promise<void>): Promise<void> {
  const service = await startService(bin, folder);
  try {
    await service.client.createWorkspace({ name: 'bench' });
    await work(service);
  } finally {
    await stopService(service);
  }
}

async function benchCase(client: Client, folder: string, one: Case): Promise<void> {
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    const name = `load-${round}`;
    ours.push(await loadOnce(client, name, one));
    await client.deleteCollection({ workspace: 'bench', collection: name });
    const file = join(folder, `baseline-${round}.duckdb`);
    const engine = await openBaseline(file);
    theirs.push(
      await timeMs(async () => {
        await engine.run(`CREATE TABLE t AS SELECT * FROM ${one.reader}`);
        await engine.run('CHECKPOINT');
      }),
    );
    engine.close();
    await rm(file, { force: true });
  }
  const [a, b] = [median(ours), median(theirs)];
  printRow(`${one.name} (goal ${one.goal})`, ms(a), ms(b), b / a);
}

/** A large load: the memory of the service, and other clients' short queries meanwhile. */
async function benchLarge(client: Client, folder: string, pid: number): Promise<void> {
  const file = join(folder, 'lines.jsonl');
  const small = (await readFile(file)).length;
  async function* repeated() {
    // Other ids in each copy, as in one large file.
    for (let copy = 0; copy * small < LARGE_BYTES; copy += 1) {
      for await (const chunk of createReadStream(file, { highWaterMark: 512 * 1024 })) {
        yield Buffer.from(String(chunk).replaceAll('"doc-', `"${copy}-`));
      }
    }
  }
  await client.createCollection({ workspace: 'bench', name: 'large', recognize_times: true });
  const until = new AbortController();
  const times: number[] = [];
  let most = 0;
  const watched = (async () => {
    while (!until.signal.aborted) {
      times.push(await timeMs(() => client.runQuery({ sql: { query: 'SELECT 1' } })));
      most = Math.max(most, await residentBytes(pid));
      await sleep(20);
    }
  })();
  const spent = await timeMs(() =>
    client.load({ workspace: 'bench', collection: 'large', format: 'jsonl' }, repeated()),
  );
  until.abort();
  await watched;
  console.log(
    `  ${LARGE_BYTES / 1e9} GB of JSON lines: ${(spent / 1_000).toFixed(0)} s, memory at most ${(most / 1e6).toFixed(0)} MB (goal 1000)`,
  );
  console.log(`  SELECT 1 meanwhile: p50 ${ms(median(times))}, p99 ${ms(quantile(times, 0.99))} (goal 150 ms)`);
}

async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1_024;
}
