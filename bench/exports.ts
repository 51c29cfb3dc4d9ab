import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openBaseline } from './baseline.ts';
import { startService, stopService } from './local-service.ts';
import { interleaved, median, ms, printHeading, printRow } from './measure.ts';
import { load } from './service.ts';

const CITIES = ['Bern', 'Lagos', 'Lima', 'Osaka', 'Oslo', 'Paris'];
const START_MS = Date.UTC(2026, 0, 1);
const ROUNDS = 3;

/** Twelve fields, about 300 bytes. */
function* documents(count: number) {
  for (let n = 0; n < count; n++) {
    yield {
      _id: `doc-${n}`,
      n,
      price: (n * 7) / 13,
      name: `name ${n % 5_000}`,
      city: CITIES[n % CITIES.length],
      ok: n % 2 === 0,
      created: new Date(START_MS + n * 1_000).toISOString(),
      tags: ['new', `t${n % 50}`],
      customer: { name: `customer ${n % 900}`, zip: String(10_000 + (n % 9_999)) },
      note: n % 10 === 0 ? null : `short, note ${n % 77}`,
      rank: n % 17,
      code: `X${n * 31}`,
      text: `lorem ipsum dolor sit amet ${n} consectetur adipiscing elit`,
    };
  }
}

/** (s) A whole collection to a file, by the command, beside COPY of the same table by DuckDB alone. */
export async function benchExports(bin: string, folder: string, count: number): Promise<void> {
  const service = await startService(bin, join(folder, 'data'));
  const file = (name: string) => join(folder, name);
  const run = promisify(execFile);
  const env = { ...process.env, COLLOQUY_DATA_DIR: join(folder, 'data') };
  const write = async (format: string) => {
    await rm(file(`own.${format}`), { force: true });
    await run(process.execPath, [bin, 'export', 'bench.big', '--to', file(`own.${format}`)], { env });
  };
  const baseline = await openBaseline(file('baseline.duckdb'));
  try {
    await service.client.createWorkspace({ name: 'bench' });
    await service.client.createCollection({ workspace: 'bench', name: 'big' });
    await load(service.client, 'big', documents(count), 5_000);
    await write('jsonl');
    await baseline.run(`CREATE TABLE big AS SELECT * FROM read_json('${file('own.jsonl')}')`);
    printHeading(`(s) ${count} documents to a file, median of ${ROUNDS}`, 'export', 'COPY');
    for (const [format, options] of [
      ['jsonl', 'FORMAT json'],
      ['csv', 'FORMAT csv, HEADER'],
      ['parquet', 'FORMAT parquet'],
    ] as const) {
      const { own, copy } = await interleaved(ROUNDS, {
        own: () => write(format),
        copy: () => baseline.run(`COPY big TO '${file(`copy.${format}`)}' (${options})`),
      });
      const megabytes = Math.round(statSync(file(`own.${format}`)).size / 1e6);
      printRow(`${format}, ${megabytes} MB`, ms(median(own)), ms(median(copy)), median(own) / median(copy));
    }
  } finally {
    baseline.close();
    await stopService(service);
  }
}
