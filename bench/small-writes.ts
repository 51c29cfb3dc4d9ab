import { benchDocument, benchDocuments } from './documents.ts';
import { startService, stopService } from './local-service.ts';
import { median, ms, printHeading, printRow, quantile } from './measure.ts';
import { bodyOf, documentsOf } from './sender.ts';
import { load } from './service.ts';

const DOCUMENTS = 300_000;
const CLIENTS = 50;
const MEASURED_MS = 5_000;

/** (q) Requests of one document each, of 50 clients at once and of one, to one collection of 300,000 documents. */
export async function benchSmallWrites(bin: string, folder: string): Promise<void> {
  const service = await startService(bin, folder);
  const { client, sender } = service;
  const path = documentsOf('small');
  try {
    await client.createWorkspace({ name: 'bench' });
    await client.createCollection({ workspace: 'bench', name: 'small' });
    await load(client, 'small', benchDocuments(DOCUMENTS), 5_000);
    let next = DOCUMENTS;
    const add = () => sender.send('POST', path, bodyOf([benchDocument(next++)]));
    const replace = () => sender.send('POST', path, bodyOf([benchDocument((next++ * 7_919) % DOCUMENTS)]));
    const patch = () => {
      const { _id } = benchDocument((next++ * 7_919) % DOCUMENTS);
      const body = bodyOf([{ _id, patch: [{ op: 'replace', path: '/amount', value: 1 }] }]);
      return sender.send('PATCH', path, body);
    };
    printHeading(`(q) requests of one document, to ${DOCUMENTS} documents`, `${CLIENTS} clients`, 'one client');
    for (const [name, write] of Object.entries({ add, replace, patch })) {
      const many = await measure(write, CLIENTS);
      const one = await measure(write, 1);
      printRow(
        `${name}, requests per second`,
        String(Math.round(many.perSecond)),
        String(Math.round(one.perSecond)),
        many.perSecond / one.perSecond,
      );
      printRow(
        `${name}, p50 and p99`,
        `${ms(many.p50)}, ${ms(many.p99)}`,
        `${ms(one.p50)}, ${ms(one.p99)}`,
        many.p50 / one.p50,
      );
    }
  } finally {
    await stopService(service);
  }
}

async function measure(write: () => Promise<unknown>, clients: number) {
  const times: number[] = [];
  const end = performance.now() + MEASURED_MS;
  const begin = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() < end) {
        const start = performance.now();
        await write();
        times.push(performance.now() - start);
      }
    }),
  );
  return {
    perSecond: (times.length * 1_000) / (performance.now() - begin),
    p50: median(times),
    p99: quantile(times, 0.99),
  };
}
