/** A nested document of about one kilobyte, determined by its number. */
export interface BenchDocument {
  _id: string;
  kind: string;
  created: string;
  amount: number;
  active: boolean;
  referrer: string | null;
  user: { id: number; name: string; address: { city: string; zip: string; geo: [number, number] } };
  device: { os: string; version: string; screen: { width: number; height: number } };
  tags: string[];
  items: { sku: string; quantity: number; price: number }[];
  text: string;
}

const KINDS = ['view', 'click', 'purchase', 'refund', 'login', 'logout', 'search', 'share'];
const CITIES = ['Bern', 'Lagos', 'Lima', 'Osaka', 'Oslo', 'Paris', 'Quito', 'Seoul', 'Tunis', 'Turin'];
const SYSTEMS = ['linux', 'macos', 'windows', 'android', 'ios'];
const TAGS = ['new', 'sale', 'vip', 'trial', 'beta', 'eu', 'us', 'apac', 'mobile', 'desktop'];
const WORDS = 'amber birch cedar delta ember fjord grove heron inlet jetty knoll lagoon marsh north ocean pine'.split(
  ' ',
);
const START_MS = Date.UTC(2026, 0, 1);

/** A small deterministic random number generator (mulberry32), so that each run loads the same bytes. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function benchDocument(number: number): BenchDocument {
  const random = randomOf(number);
  const below = (limit: number) => Math.floor(random() * limit);
  const pick = (list: readonly string[]) => list[below(list.length)] ?? '';
  const userId = below(20_000);
  return {
    _id: `doc-${String(number).padStart(9, '0')}`,
    kind: pick(KINDS),
    created: new Date(START_MS + number * 1_000).toISOString(),
    amount: Math.round(random() * 100_000) / 100,
    active: random() < 0.7,
    referrer: random() < 0.3 ? null : `https://example.org/${pick(WORDS)}/${below(1_000)}`,
    user: {
      id: userId,
      name: `${pick(WORDS)} ${pick(WORDS)}`,
      address: {
        city: pick(CITIES),
        zip: String(10_000 + below(89_999)),
        geo: [random() * 180 - 90, random() * 360 - 180],
      },
    },
    device: {
      os: pick(SYSTEMS),
      version: `${below(20)}.${below(10)}`,
      screen: { width: 320 + below(3_000), height: 480 + below(2_000) },
    },
    tags: Array.from({ length: 1 + below(4) }, () => pick(TAGS)),
    items: Array.from({ length: 1 + below(3) }, () => ({
      sku: `sku-${below(5_000)}`,
      quantity: 1 + below(9),
      price: Math.round(random() * 20_000) / 100,
    })),
    text: Array.from({ length: 80 }, () => pick(WORDS)).join(' '),
  };
}

export function* benchDocuments(count: number): Generator<BenchDocument> {
  for (let number = 0; number < count; number += 1) yield benchDocument(number);
}

/** The columns of a `BenchDocument` as a person would declare them in DuckDB. */
export const COLUMNS = {
  _id: 'VARCHAR',
  kind: 'VARCHAR',
  created: 'VARCHAR',
  amount: 'DOUBLE',
  active: 'BOOLEAN',
  referrer: 'VARCHAR',
  user: 'STRUCT(id BIGINT, "name" VARCHAR, address STRUCT(city VARCHAR, zip VARCHAR, geo DOUBLE[]))',
  device: 'STRUCT(os VARCHAR, "version" VARCHAR, screen STRUCT(width BIGINT, height BIGINT))',
  tags: 'VARCHAR[]',
  items: 'STRUCT(sku VARCHAR, quantity BIGINT, price DOUBLE)[]',
  text: 'VARCHAR',
};
