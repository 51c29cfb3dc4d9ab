import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateRawSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { filesFolder } from './opened.ts';

const { read, fixture, remove, root } = filesFolder();
afterAll(remove);

/** What the first record has; `fixtures/make-avro.py` wrote it with another implementation. */
const FIRST = {
  id: 1,
  count: -1,
  ratio: 0.1,
  amount: 0.25,
  paid: false,
  raw: 'Af8=',
  hash: 'AAECAw==',
  state: 'DONE',
  note: 'grüße',
  tags: ['t0'],
  attributes: { a: 1, b: 'x', c: null },
  address: { city: 'Bonn' },
  price: -12.5,
  exact: '12345678901234567890.1234',
  short: 2.25,
  whole: -9007199254740993n,
  day: '2024-02-29',
  clock: '01:02:03.5',
  clock_us: '01:02:03.000004',
  at_ms: '1969-12-31T23:59:59.999000Z',
  at_us: '2024-02-29T01:02:03.000004Z',
  local: '2024-02-29T01:02:03.000000',
  key: '00112233-4455-6677-8899-aabbccddeeff',
};

describe('Avro files of another writer', () => {
  it.each(['null', 'deflate', 'snappy', 'zstandard'])('are read exactly, compressed with %s', async (codec) => {
    const { documents, places, error, nulled, asText, file } = await read(fixture(`orders-${codec}.avro`));
    expect(error).toBeUndefined();
    expect(documents).toHaveLength(29);
    expect(places.slice(-2)).toEqual([28, 29]);
    expect(documents[0]).toEqual(FIRST);
    const { amount: _, ratio: __, note: ___, ...second } = FIRST;
    expect(documents[1]).toMatchObject({
      ...second,
      ...{ id: 9007199254740993n, count: -2, paid: true, raw: 'Av8=', state: 'NEW', tags: ['t0', 't1'] },
      ...{ attributes: { a: 2, b: 'x', c: null }, exact: '1.5000', next: { id: 3, exact: '1.5000' } },
    });
    // NaN and -Infinity, once each.
    expect(Object.keys(documents[1] ?? {})).not.toContain('amount');
    expect([nulled, asText]).toEqual([2, ['exact']]);
    expect(file).toMatchObject({ format: 'avro', unit: 'row' });
  });

  it('are read compressed as a whole', async () => {
    const content = readFileSync(join(root, fixture('orders-null.avro')));
    expect((await read('o.avro.gz', gzipSync(content))).documents).toHaveLength(29);
    expect((await read('o.csv', content)).error).toContain('The file is Avro. Give "format": "avro".');
    expect((await read('o.csv', content, { format: 'avro' })).documents).toHaveLength(29);
  });

  it('cut off or damaged anywhere end with what is before, and never hang', async () => {
    const content = readFileSync(join(root, fixture('orders-snappy.avro')));
    for (let length = 0; length < content.length; length += 97) {
      const { documents, error } = await read('cut.avro', content.subarray(0, length));
      expect(documents.length < 29 && error !== undefined).toBe(true);
    }
    for (let at = 2_200; at < content.length - 17; at += 61) {
      const damaged = Buffer.from(content);
      damaged[at] = (damaged[at] ?? 0) ^ 0xff;
      expect((await read('damaged.avro', damaged)).error).toContain('cannot be read as Avro');
    }
  });
});

/** An integer as Avro writes it. */
function long(value: number | bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n));
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}

const SYNC = Buffer.from('0123456789abcdef');
const sized = (content: Buffer | string) => Buffer.concat([long(Buffer.byteLength(content)), Buffer.from(content)]);

function head(schema: unknown, codec = 'null'): Buffer {
  const text = typeof schema === 'string' ? schema : JSON.stringify(schema);
  const meta = [sized('avro.schema'), sized(text), sized('avro.codec'), sized(codec)];
  return Buffer.concat([Buffer.from('Obj\u0001'), long(2), ...meta, long(0), SYNC]);
}

const block = (count: number, content: Buffer) => Buffer.concat([long(count), sized(content), SYNC]);
const record = (type: unknown) => ({ type: 'record', name: 'R', fields: [{ name: 'a', type }] });
const GOOD = block(2, Buffer.concat([long(1), long(2)]));

/** A schema whose one value is 2^60 records of no bytes. */
function fan(): object {
  let type: object = { type: 'record', name: 'L0', fields: [{ name: 'a', type: 'null' }] };
  for (let index = 1; index < 60; index++) {
    const fields = [
      { name: 'a', type },
      { name: 'b', type: `L${index - 1}` },
    ];
    type = { type: 'record', name: `L${index}`, fields };
  }
  return type;
}

describe('hostile Avro', () => {
  it.each([
    ['a block of 2 GB', record('long'), Buffer.concat([GOOD, long(1), long(2 ** 31)]), 'claims 2147483648 bytes'],
    ['a block that ends early', record('long'), Buffer.concat([GOOD, block(2, long(1)).subarray(0, -5)]), 'cut off'],
    ['another mark', record('long'), Buffer.concat([GOOD, block(1, long(1)).fill(0, 5)]), 'the mark of the file'],
    ['more bytes than records', record('long'), Buffer.concat([GOOD, block(1, Buffer.alloc(9))]), '8 bytes behind'],
    ['fewer bytes than records', record('long'), Buffer.concat([GOOD, block(2, long(1))]), 'end within a value'],
  ])('with %s ends after the records before it', async (_, schema, blocks, why) => {
    const { documents, error } = await read('h.avro', Buffer.concat([head(schema), blocks]));
    expect(documents.slice(0, 2)).toEqual([{ a: 1 }, { a: 2 }]);
    expect(error).toMatch(/^The file cannot be read as Avro, after record \d: /);
    expect(error).toContain(why);
  });

  it.each([
    ['endless records', { type: 'record', name: 'R', fields: [] }, block(2 ** 40, Buffer.alloc(0)), '0 bytes'],
    ['an endless array', record({ type: 'array', items: 'null' }), block(1, long(2n ** 50n)), '500000 values'],
    ['a record in itself', record('R'), block(1, Buffer.alloc(1)), 'nested without end'],
    ['a list without end', record(['null', 'R']), block(1, Buffer.alloc(5_000_000, 2)), 'nested without end'],
    ['values of no bytes', fan(), block(1, Buffer.alloc(1)), '500000 values'],
    ['a long text', record('string'), block(1, long(2n ** 40n)), 'claims 1099511627776 bytes'],
    ['a negative text', record('string'), block(1, long(-5)), 'claims -5 bytes'],
    ['a long integer', record('long'), block(1, Buffer.alloc(11, 0xff)), 'more than 10 bytes'],
    ['a wrong branch', record(['null', 'long']), block(1, long(7)), 'a union of 2 types has the index 7'],
    ['a wrong symbol', record({ type: 'enum', name: 'E', symbols: ['A'] }), block(1, long(-1)), 'has the index -1'],
    ['an unknown type', record('constructor'), GOOD, '"constructor", which it does not define'],
    ['a deep schema', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, GOOD, 'its schema is nested too deeply'],
    ['no schema', '{', GOOD, 'its schema is no JSON'],
  ])('with %s is refused in bounded time', async (_, schema, blocks, why) => {
    const begun = performance.now();
    const { error } = await read('h.avro', Buffer.concat([head(schema), blocks]));
    expect(error).toContain(why);
    expect(performance.now() - begun).toBeLessThan(15_000);
  });

  it('with a block that expands without end is refused, and an unknown codec named', async () => {
    const bomb = deflateRawSync(Buffer.alloc(100_000_000));
    const { error } = await read('bomb.avro', Buffer.concat([head(record('long'), 'deflate'), block(9, bomb)]));
    expect(error).toContain('a block expands to more than 67108864 bytes');
    const snappy = Buffer.concat([Buffer.from([200, 255, 255, 255, 7]), Buffer.alloc(50, 0xfe)]);
    const other = await read('bomb.avro', Buffer.concat([head(record('long'), 'snappy'), block(9, snappy)]));
    expect(other.error).toContain('a block expands to more than 67108864 bytes');
    expect((await read('c.avro', head(record('long'), 'xz'))).error).toContain('compressed with "xz"');
    const header = Buffer.concat([Buffer.from('Obj\u0001'), long(2 ** 40), Buffer.alloc(6_000_000, 2)]);
    expect((await read('header.avro', header)).error).toContain('its header has more than 4194304 bytes');
  });

  it('leaves out a record that is no document, and goes on behind it', async () => {
    const content = Buffer.concat([sized(Buffer.from([0xff])), sized('b')]);
    const { documents } = await read('u.avro', Buffer.concat([head(record('string')), block(2, content)]));
    expect(documents).toEqual([{ problem: 'holds a text that is not UTF-8' }, { a: 'b' }]);
    const deep = Buffer.concat([Buffer.alloc(300, 2), long(0), long(0)]);
    const list = await read('l.avro', Buffer.concat([head(record(['null', 'R'])), block(2, deep)]));
    expect(list.documents).toEqual([{ problem: 'is nested more than 200 levels deep' }, {}]);
    const top = await read('t.avro', Buffer.concat([head('"long"'), GOOD]));
    expect(top.documents).toEqual([{ problem: 'is no record' }, { problem: 'is no record' }]);
  });

  it('has keys and integers as they are', async () => {
    const schema = { type: 'record', name: 'R', fields: ['__proto__', 'b'].map((name) => ({ name, type: 'long' })) };
    const values = [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n - 1n, 2n ** 53n].map(long);
    const { documents } = await read('k.avro', Buffer.concat([head(schema), block(2, Buffer.concat(values))]));
    expect(documents.map((one) => Object.entries(one))).toEqual([
      [
        ['__proto__', 9223372036854775807n],
        ['b', -9223372036854775808n],
      ],
      [
        ['__proto__', 9007199254740991],
        ['b', 9007199254740992n],
      ],
    ]);
  });
});
