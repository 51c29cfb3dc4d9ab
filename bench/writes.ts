import { readFile, rm, writeFile } from 'node:fs/promises';
import type { Client } from '../src/http/client.ts';
import type { Baseline } from './baseline.ts';
import { benchDocument, COLUMNS } from './documents.ts';
import { median, ms, printHeading, printRow, timeMs } from './measure.ts';

const WRITTEN = 10_000;
const ROUNDS = 5;

/** Numbers of documents spread over the whole collection, different ones in each round. */
function spread(count: number, round: number): number[] {
  const step = Math.floor(count / WRITTEN);
  return Array.from({ length: WRITTEN }, (_, index) => index * step + (round % step));
}

interface Write {
  /** Prepares the request, which is not part of the measured time. */
  prepare(numbers: readonly number[]): () => Promise<unknown>;
  theirs(): Promise<unknown>;
}

/** (f) Replacing, patching and deleting 10,000 documents, compared with DuckDB's own statement on the same ones. */
export async function benchWrites(
  client: Client,
  baseline: Baseline,
  collection: string,
  count: number,
  scratch: string,
): Promise<void> {
  const target = { workspace: 'bench', collection };
  const idOf = (number: number) => benchDocument(number)._id;
  const changed = (number: number) => ({ ...benchDocument(number), amount: -number });
  const columns = Object.entries(COLUMNS).map(([name, type]) => `${name}: '${type}'`);
  const rows = `read_json('${scratch}', format='newline_delimited', columns={${columns.join(', ')}})`;
  const listed = `_id IN (SELECT _id FROM ${rows})`;
  const spill = (numbers: readonly number[]) =>
    writeFile(scratch, numbers.map((number) => JSON.stringify(changed(number))).join('\n'));
  const writes: Record<string, Write> = {
    replace: {
      prepare(numbers) {
        const data = numbers.map(changed);
        return () => client.addDocuments({ ...target, data }, { timeoutMs: 600_000 });
      },
      theirs: () =>
        baseline.run(`BEGIN; DELETE FROM big WHERE ${listed}; INSERT INTO big SELECT * FROM ${rows}; COMMIT`),
    },
    patch: {
      prepare(numbers) {
        const patchOf = (value: number) => [{ op: 'replace' as const, path: '/amount', value }];
        const data = numbers.map((number) => ({ _id: idOf(number), patch: patchOf(number) }));
        return () => client.patchDocuments({ ...target, data }, { timeoutMs: 600_000 });
      },
      theirs: () => baseline.run(`UPDATE big SET amount = amount + 1 WHERE ${listed}`),
    },
    delete: {
      prepare(numbers) {
        const data = numbers.map((number) => ({ _id: idOf(number) }));
        return () => client.deleteDocuments({ ...target, data }, { timeoutMs: 600_000 });
      },
      theirs: () => baseline.run(`DELETE FROM big WHERE ${listed}`),
    },
  };
  printHeading(`(f) ${WRITTEN} documents of ${count}, median of ${ROUNDS}`, 'colloquy', 'duckdb alone');
  for (const [name, { prepare, theirs }] of Object.entries(writes)) {
    const times: [number, number][] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const numbers = spread(count, round);
      await spill(numbers);
      times.push([await timeMs(prepare(numbers)), await timeMs(theirs)]);
    }
    const [a, b] = [median(times.map(([time]) => time)), median(times.map(([, time]) => time))];
    printRow(name, ms(a), ms(b), a / b);
  }
  await rm(scratch);
}

/** Resident memory of a process in MiB, now and at its peak; undefined if the system does not tell. */
export async function memoryOf(pid: number): Promise<{ now: number; peak: number } | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const mib = (name: string) =>
    Number(new RegExp(`^${name}:\\s*(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN) / 1_024;
  return status === '' ? undefined : { now: mib('VmRSS'), peak: mib('VmHWM') };
}

/** (g) The service's memory after loading, and after being idle. */
export async function benchMemory(pid: number, count: number, idleMs: number): Promise<void> {
  const loaded = await memoryOf(pid);
  await new Promise((resolve) => setTimeout(resolve, idleMs));
  const idle = await memoryOf(pid);
  if (loaded === undefined || idle === undefined) return;
  const mib = (value: number) => `${value.toFixed(0)} MiB`;
  console.log(`\n(g) memory of the service with ${count} documents loaded`);
  console.log(
    `  peak ${mib(loaded.peak)}   at the end ${mib(loaded.now)}   after ${idleMs / 1_000} s ${mib(idle.now)}`,
  );
}
