import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { xmlDocuments } from '../../../src/service/ingest/xml.ts';
import { filesFolder } from './opened.ts';

const { read, remove } = filesFolder();
afterAll(remove);

const ORDERS = `<?xml version="1.0"?>
<!-- orders -->
<orders>
  <order id="1"><item sku="x">one</item><item>two</item><note>a &lt; b <![CDATA[& <c>]]> &#228;</note></order>
  <order
     id="2">text</order>
  <order/>
</orders>
`;
const DOCUMENTS = [
  { '@id': '1', item: [{ '@sku': 'x', '#text': 'one' }, 'two'], note: 'a < b & <c> ä' },
  { '@id': '2', '#text': 'text' },
  {},
];

describe('files of XML', () => {
  it('have the children of the root as documents if these have one name, with their lines', async () => {
    for (const [path, content] of [
      ['a.xml', ORDERS],
      ['a.xml.gz', gzipSync(ORDERS)],
      ['mark.xml', `\ufeff${ORDERS}`],
    ] as const) {
      const { documents, places, file, error } = await read(path, content);
      expect([documents, places, error]).toEqual([DOCUMENTS, [1, 2, 3], undefined]);
      expect(file).toMatchObject({ format: 'xml', unit: 'element', docTag: 'order' });
    }
  });

  it('have the documents, and the refused ones, that the same text of an uploaded file has', async () => {
    const deep = `${'<x>'.repeat(250)}${'</x>'.repeat(250)}`;
    for (const [root_tag, doc_tag, text] of [
      ['orders', 'order', `\ufeff${ORDERS}`],
      [null, 'order', ORDERS.replace('<?xml version="1.0"?>', '<?xml version="1.0" encoding="UTF-8"?>')],
      [
        null,
        'd',
        `<r><d a="1">x<!-- c --><e/>y</d><d>\n${deep}</d><d><d>2</d></d><?p q?><d> <![CDATA[ <z> ]]>&#228;</d></r>`,
      ],
      ['s', 'd', '<r><d>0</d><s><d b="&lt;">1</d></s><s><d>2</d></s></r>'],
    ] as const) {
      const rules = { root_tag, doc_tag, value_tag: 'v', attribute_prefix: '$' };
      const parsed = xmlDocuments(text, { kind: 'xml', encoding: 'UTF-8', ...rules });
      const xml = { docTag: doc_tag, rootTag: root_tag ?? undefined, valueTag: 'v', attributePrefix: '$' };
      const { documents, error } = await read('same.xml', text, { xml });
      expect(error).toBeUndefined();
      const expected = parsed.map((one) =>
        'document' in one ? one.document : { problem: one.problem.replace(/^(line \d+) (.*)$/, '$2 ($1)') },
      );
      expect(documents).toEqual(expected);
      expect(expected.filter((one) => 'problem' in one)).toHaveLength(text.includes(deep) ? 1 : 0);
    }
  });

  it('have the elements that are asked for, in the first root that is', async () => {
    const text = '<f><d>0</d><r><d>1<d>2</d></d><x><d>3</d></x></r><r><d>4</d></r></f>';
    expect((await read('d.xml', text, { xml: { docTag: 'd', rootTag: 'r' } })).documents).toEqual([
      { '#text': '1', d: '2' },
      { '#text': '3' },
    ]);
    expect((await read('d.xml', text, { xml: { docTag: 'd' } })).documents).toHaveLength(4);
    expect((await read('d.xml', text, { xml: { docTag: 'none' } })).documents).toEqual([]);
    expect(await read('d.xml', text, { xml: { rootTag: 'none' } })).toMatchObject({
      error: expect.stringContaining('it has no element "none", the root_tag'),
    });
    const named = await read('v.xml', '<r><d a="1">x</d></r>', {
      xml: { docTag: 'd', valueTag: 'v', attributePrefix: '' },
    });
    expect(named.documents).toEqual([{ a: '1', v: 'x' }]);
  });

  it('have an array where an element is repeated in any of them, and no field for an empty one', async () => {
    const text = `<shop><x><category>0</category></x>
      <i><category>a</category><l><item>1</item></l><stock/><one>1</one><t a="1"/></i>
      <i><category>b</category><category>c</category><l><item>2</item><item/></l><stock>5</stock></i>
      <i><l/><category/></i></shop>`;
    const expected = [
      { category: ['a'], l: { item: ['1'] }, one: '1', t: { '@a': '1' } },
      { category: ['b', 'c'], l: { item: ['2', null] }, stock: '5' },
      {},
    ];
    expect((await read('repeated.xml', text, { xml: { docTag: 'i' } })).documents).toEqual(expected);
    const { documents } = await read('alike.xml', text.replace(/<x>.*<\/x>/, ''));
    expect(documents).toEqual(expected);
  });

  it('are one document if the children have several names, and what is there several times is told', async () => {
    const { documents, file } = await read('one.xml', '<o><n>1</n><line>a</line><line>b</line></o>');
    expect(documents).toEqual([{ n: '1', line: ['a', 'b'] }]);
    expect(file).toMatchObject({ docTag: undefined, lists: [{ path: 'line', items: 2 }] });
    const rss = await read('rss.xml', '<rss><channel><title/><item>1</item><item>2</item></channel></rss>');
    expect(rss.documents).toEqual([{ item: ['1', '2'] }]);
    expect(rss.file).toMatchObject({ docTag: 'channel', lists: [{ path: 'item', items: 2 }] });
  });

  it('stop at a child of another name that comes late, with its line', async () => {
    const row = `<d>${'x'.repeat(100_000)}</d>\n`;
    const { documents, error } = await read('late.xml', `<r>\n${row.repeat(100)}<e/></r>`);
    expect(documents).toHaveLength(100);
    expect(error).toContain('at line 102: an element "e" stands among those named "d"');
  });

  it('are read in the encoding that they say', async () => {
    const latin = Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><r><d>José</d></r>', 'latin1');
    expect((await read('latin.xml', latin)).documents).toEqual([{ '#text': 'José' }]);
    const { error } = await read('wrong.xml', Buffer.from('<r>\n<d>José</d></r>', 'latin1'));
    expect(error).toContain('not valid utf-8');
    expect((await read('odd.xml', '<?xml version="1.0" encoding="klingon"?><r/>')).error).toContain('"klingon"');
  });

  it.each([
    ['an entity of its own', '<!DOCTYPE r [<!ENTITY a "b">]>\n<r>\n<d>1</d><d>&a;</d></r>', 3, 'not expanded'],
    [
      'a file as an entity',
      '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n<r>\n<d>1</d><d>&a;</d></r>',
      3,
      'not expanded',
    ],
    ['an element that is not closed', '<r>\n<d>1</d>\n<d>\n</r>', 4, 'unexpected close tag'],
    ['an end in the middle', '<r>\n<d>1</d>\n<d><a>', 3, 'unclosed tag: a'],
    ['an attribute of 11 MB', `<r>\n<d>1</d>\n<d a="${'x'.repeat(11_000_000)}"/></r>`, 3, '10 MiB'],
    ['a text of 30 MB', `<r>\n<d>1</d>\n<d>${'x'.repeat(30_000_000)}</d></r>`, 3, '10 MiB'],
    ['a comment of 11 MB', `<r>\n<d>1</d>\n<!--${'x'.repeat(11_000_000)}--></r>`, 3, '10 MiB'],
    ['a declaration of 11 MB', `<r>\n<d>1</d>\n<?p ${'x'.repeat(11_000_000)}?></r>`, 3, '10 MiB'],
    [
      'many attributes',
      `<r>\n<d>1</d>\n<d ${Array.from({ length: 1_000_000 }, (_, n) => `a${n}=""`).join(' ')}/></r>`,
      3,
      '20000 attributes',
    ],
    ['elements without end', `<r>\n<d>1</d>\n${'<d>'.repeat(1_000_000)}`, 3, 'nested too deeply'],
  ])('with %s end there with the line, in bounded time, and what is before it is in', async (_, text, line, why) => {
    const begun = performance.now();
    const { documents, error } = await read('hostile.xml', text);
    expect(error).toMatch(new RegExp(`^The file is not XML, at line ${line}: `));
    expect(error).toContain(why);
    expect(documents[0]).toEqual({ '#text': '1' });
    expect(performance.now() - begun).toBeLessThan(20_000);
  });

  it('leave out a document that is too deep or too large, and go on behind it', async () => {
    const deep = `${'<e>'.repeat(300)}${'</e>'.repeat(300)}`;
    const wide = '<e/>'.repeat(100_001);
    const large = `<e>${'x'.repeat(6_000_000)}</e>`.repeat(2);
    const { documents, error } = await read(
      'skip.xml',
      `<r><d>1</d><d>${deep}</d><d>${wide}</d><d>${large}</d><d>2</d></r>`,
    );
    expect(error).toBeUndefined();
    expect(documents).toEqual([
      { '#text': '1' },
      { problem: expect.stringContaining('more than 200 levels deep') },
      { problem: expect.stringContaining('more than 100000 elements') },
      { problem: expect.stringContaining('more than 10485760 characters') },
      { '#text': '2' },
    ]);
  });

  it('that are none say so', async () => {
    expect((await read('empty.xml', '')).error).toContain('it has no element');
    expect((await read('text.xml', 'hello')).error).toContain('text data outside of root node');
  });
});
