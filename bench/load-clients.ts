// Clients that call a service one after the other, without a pause, until the process is killed: the load of `load.ts`.
import { createClient } from '../src/http/client.ts';

const [socketPath = '', collection = '', clients = '50'] = process.argv.slice(2);
const apiKey = process.env['BENCH_KEY'] ?? '';

/** Of ten calls in a row; each client begins at another of them. */
const WRITES = 1;
const GROUPS = 2;

/** Calls until the service has opened its connections and compiled its code. */
const WARM_UP = 500;

const client = createClient({ target: { socketPath }, apiKey });

async function run(number: number): Promise<never> {
  for (let turn = number; ; turn += 1) {
    const kind = turn % 10;
    if (kind < WRITES) {
      const data = [{ _id: `${number}-${turn % 1_000}`, kind: 'load', amount: turn }];
      await client.addDocuments({ workspace: 'bench', collection: 'written', data });
    } else if (kind < WRITES + GROUPS) {
      await client.runQuery({ sql: { query: 'SELECT kind, count(*) n FROM bench.few GROUP BY 1' } });
    } else {
      const parameters = [{ name: 'id', value: `doc-${String((turn * 7_919) % 1_000).padStart(9, '0')}` }];
      const query = `SELECT _id, amount FROM bench."${collection}" WHERE _id = :id`;
      await client.runQuery({ sql: { query, parameters } });
    }
    calls += 1;
    if (calls === WARM_UP) process.stdout.write('warm\n');
  }
}

let calls = 0;
process.on('SIGTERM', () => {
  process.stdout.write(`${calls - WARM_UP}\n`, () => process.exit(0));
});
for (let number = 0; number < Number(clients); number += 1) {
  run(number).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
}
