import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/contract/json/json.ts';
import { type Client, createClient } from '../../../src/http/client.ts';
import { presentCollections } from '../../../src/mcp/tools/overview.ts';
import { startTestService, type TestService } from '../../service/harness.ts';

let service: TestService;
let client: Client;
beforeAll(async () => {
  service = await startTestService();
  client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
});
afterAll(async () => {
  await client.close();
  await service.remove();
});

async function load(name: string, documents: readonly JsonObject[]): Promise<void> {
  await client.createCollection({ workspace: 'commons', name });
  await client.addDocuments({ workspace: 'commons', collection: name, data: [...documents] });
}

/** The line of a collection from its fields on. */
async function fieldsOf(name: string, offered?: ReadonlyMap<string, unknown>): Promise<string | undefined> {
  const context = { client, signal: undefined, offered };
  const { text = '' } = await presentCollections(context, await client.listCollections({}));
  return text
    .split('\n')
    .find((line) => line.startsWith(`commons.${name} `))
    ?.replace(/^[^)]*\): /, '');
}

describe('the list of few collections', () => {
  it('has what is in texts: all that is there, or an example', async () => {
    await load(
      'shops',
      Array.from({ length: 40 }, (_, n) => ({
        size: n % 2 === 0 ? 'large' : "owner's",
        code: `C${n}`,
        uuid: `01a21519-bbac-7000-9893-3231dc4132${String(n + 10)}`,
        note: 'A text of which nobody who asks learns anything, since it is long.',
        tags: n % 3 === 0 ? ['new', 'open 24/7'] : [],
        at: { day: '12.05.2024', n },
        at_ms: 1_700_000_000_000 + n,
        stock: { [`item ${n}`]: `${n}.50` },
        ...(n === 7 ? { empty: '' } : {}),
      })),
    );
    expect(await fieldsOf('shops')).toBe(
      "size (large, 'owner''s'), code (C0, …), uuid, note, tags [(new, 'open 24/7')], \"at\" {day ('12.05.2024'), n BIGINT}, at_ms BIGINT (1700000000000, …), stock {('item 0', …) <key> ('0.50', …)}, empty ('')",
    );
  });

  it('has the fields of which many values have another type, and how these are read', async () => {
    await load('mixed', [
      ...Array.from({ length: 30 }, () => ({ o: { added: '9' } })),
      ...Array.from({ length: 5 }, () => ({ o: { added: false } })),
      ...Array.from({ length: 4 }, () => ({ o: [{ added: '9' }] })),
    ]);
    expect(await fieldsOf('mixed')).toBe(
      "o {added ('9', false)}; of other types, so NULL where SQL computes: (_strays->>'o') in 4, as '[{\"added\":\"9\"}]'",
    );
  });

  it('does not tell of values that are in hardly any document', async () => {
    await load('odd', [...Array.from({ length: 200 }, (_, n) => ({ n })), { n: 'none' }]);
    expect(await fieldsOf('odd')).toBe('n BIGINT');
  });

  it('says that there may be more where it did not look at all', async () => {
    await load(
      'large',
      Array.from({ length: 10_050 }, (_, n) => ({ kind: n > 10_000 ? 'late' : 'early' })),
    );
    expect(await fieldsOf('large')).toBe('kind (early, …)');
  });

  it('says that there may be more in lists of which it looked only at the beginning', async () => {
    await load('lists', [{ states: [...Array.from({ length: 20 }, () => 'ok'), 'failed'] }, { states: ['ok'] }]);
    expect(await fieldsOf('lists')).toBe('states [(ok, …)]');
  });

  it('quotes what does not fit, so that it cannot pass for what is told', async () => {
    await load('forged', [...Array.from({ length: 30 }, (_, n) => ({ n })), { n: '9; x in 900, as y' }]);
    expect(await fieldsOf('forged')).toContain(`in 1, as '"9; x in 900, as y"'`);
  });

  it('has no values for whoever is not offered queries', async () => {
    expect(await fieldsOf('shops', new Map([['list_collections', {}]]))).toBe(
      'size, code, uuid, note, tags [], "at" {day, n BIGINT}, at_ms BIGINT, stock {<key>}, empty',
    );
  });

  it('is without values where there are many collections', async () => {
    for (let n = 0; n < 6; n++) await load(`more${n}`, [{ kind: 'a' }]);
    expect(await fieldsOf('large')).toBe('kind');
  });
});
