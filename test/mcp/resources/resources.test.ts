import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DOC_TOPICS } from '../../../src/mcp/resources/docs-resources.ts';
import { namesIn, uriOf, variablesOf } from '../../../src/mcp/resources/resource-kinds.ts';
import { RESOURCE_KINDS } from '../../../src/mcp/resources/resources.ts';
import { tools } from '../../../src/mcp/tools/tools.ts';
import { ERAS, type EraClient, fillShop, openStage, type Stage } from '../era-clients.ts';

const ROOT = 'colloquy://workspaces';
const LAMBDA = `${ROOT}/shop/lambdas/big`;
const TEMPLATES = RESOURCE_KINDS.filter(({ uriTemplate }) => variablesOf(uriTemplate).length > 0);

let stage: Stage;
let versions: { first: string; second: string };
beforeAll(async () => {
  stage = await openStage();
  versions = await fillShop(stage);
});
afterAll(() => stage.remove());

describe.each(ERAS)('resources in era $name', ({ name: era, open }) => {
  let client: EraClient;
  beforeAll(async () => {
    client = await open(stage.assistant());
  });
  afterAll(() => client.close());

  const json = async (uri: string) => {
    const [content] = (await client.readResource({ uri })).contents;
    expect(content?.mimeType).toBe('application/json');
    return JSON.parse(String(content?.text)) as Record<string, unknown>;
  };
  const complete = async (uriTemplate: string, name: string, value: string, args?: Record<string, string>) => {
    const context = args === undefined ? {} : { context: { arguments: args } };
    const ref = { type: 'ref/resource' as const, uri: uriTemplate };
    return (await client.complete({ ref, argument: { name, value }, ...context })).completion.values;
  };

  it('are listed by kind, each kind by address', async () => {
    const uris = (await client.listResources()).resources.map(({ uri }) => uri);
    const docs = [...DOC_TOPICS].sort().map((topic) => `colloquy://docs/${topic}`);
    expect(uris).toEqual([ROOT, `${ROOT}/commons`, `${ROOT}/shop`, `${ROOT}/shop/collections/orders`, LAMBDA, ...docs]);
  });

  it('have no description that somebody else has written', async () => {
    expect(JSON.stringify(await client.listResources())).not.toContain('What was ordered');
  });

  it('have a template for every kind with variables, which names the tool that does the same', async () => {
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(
      TEMPLATES.map(({ uriTemplate }) => uriTemplate),
    );
    for (const { description } of resourceTemplates) {
      const named = /\(as (?:a )?tools?: ([^)]+)\)/.exec(description ?? '')?.[1]?.split(', ') ?? [];
      expect(named.length, description).toBeGreaterThan(0);
      expect(named.filter((tool) => !tools().has(tool))).toEqual([]);
    }
  });

  it('give no more than the tools that are offered', async () => {
    const offered = new Map([...tools()].filter(([name]) => name === 'get_organization'));
    const narrow = await open({ ...stage.assistant(), tools: offered });
    const uris = (await narrow.listResources()).resources.map(({ uri }) => uri);
    expect(uris).toEqual([...DOC_TOPICS].sort().map((topic) => `colloquy://docs/${topic}`));
    const { resourceTemplates } = await narrow.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(['colloquy://docs/{topic}']);
    await expect(narrow.readResource({ uri: `${ROOT}/shop/collections/orders` })).rejects.toThrow('does not offer');
    await narrow.close();
  });

  it('that are not there are answered with the code of the era, a wrong cursor with the same in both', async () => {
    const code = era.startsWith('2025') ? -32002 : -32602;
    for (const uri of [`${ROOT}/none`, 'colloquy://nothing']) {
      await expect(client.readResource({ uri })).rejects.toMatchObject({ code, data: { uri } });
    }
    await expect(client.listResources({ cursor: 'x' })).rejects.toMatchObject({ code: -32602 });
  });

  it('show a workspace with its collections and lambdas', async () => {
    expect(await json(`${ROOT}/shop`)).toMatchObject({
      name: 'shop',
      collections: { items: [{ name: 'orders' }] },
      lambdas: { items: [{ name: 'big', description: 'Large orders of a city' }] },
    });
  });

  it('show a lambda with its parameters, tags and versions', async () => {
    const lambda = await json(LAMBDA);
    expect(lambda).toMatchObject({
      lambda: 'shop.big',
      description: 'Large orders of a city',
      state: 'ACTIVE',
      version: versions.second,
      sql: expect.stringContaining('city = :city'),
      parameters: [
        { name: 'min', type: 'float', default: '10' },
        { name: 'city', required: true },
      ],
      reads: ['shop.orders'],
      version_count: 2,
      tags: [
        { tag: 'latest', version: versions.second },
        { tag: 'production', version: versions.first },
      ],
      versions: [
        { version: versions.second, tags: ['latest'] },
        { version: versions.first, tags: ['production'] },
      ],
    });
    expect(Object.keys(lambda)[0]).toBe('data_begin');
  });

  it('show a version by its hash and by a tag', async () => {
    const byHash = await json(`${LAMBDA}/versions/${versions.first}`);
    expect(byHash).toMatchObject({ version: versions.first, description: 'Large orders', tags: ['production'] });
    expect(await json(`${LAMBDA}/versions/production`)).toMatchObject({ version: versions.first });
  });

  it('hold the documentation, as Markdown', async () => {
    const [content] = (await client.readResource({ uri: 'colloquy://docs/sql' })).contents;
    expect(content?.mimeType).toBe('text/markdown');
    expect(String(content?.text)).toMatch(/^# SQL/);
  });

  it.each([
    [`${ROOT}/shp`, /Did you mean "?shop/],
    [`${ROOT}/shop/collections/ordrs`, /Did you mean "?orders/],
    [`${ROOT}/shop/lambdas/bgi`, /Did you mean "?big/],
    [`${LAMBDA}/versions/prodction`, /Did you mean "?production/],
    ['colloquy://docs/sqll', /Did you mean sql\?/],
    ['colloquy://workspace/shop', /resources are colloquy:\/\/workspaces, /],
    [`${ROOT}/shop/collections/orders?x=1`, /resources are/],
    [`${ROOT}/%zz`, /resources are/],
  ])('are not found at %s, and the answer says what is near', async (uri, hint) => {
    await expect(client.readResource({ uri })).rejects.toThrow(hint);
  });

  it('complete every variable of every template', async () => {
    const context = { workspace: 'shop', collection: 'orders', lambda: 'big' };
    for (const { uriTemplate } of TEMPLATES) {
      for (const variable of variablesOf(uriTemplate)) {
        expect(RESOURCE_KINDS.find((kind) => kind.uriTemplate === uriTemplate)?.complete[variable]).toBeDefined();
        if (uriTemplate.startsWith('colloquy://results/')) continue;
        expect(await complete(uriTemplate, variable, '', context), variable).not.toEqual([]);
      }
    }
    const version = `${ROOT}/{workspace}/lambdas/{lambda}/versions/{version}`;
    expect(await complete(`${ROOT}/{workspace}`, 'workspace', 's')).toEqual(['shop', 'commons']);
    expect(await complete(version, 'lambda', 'B', context)).toEqual(['big']);
    expect(await complete(version, 'version', '', context)).toEqual([
      'latest',
      'production',
      versions.second,
      versions.first,
    ]);
    expect(await complete(version, 'version', 'prod', context)).toEqual(['production']);
    expect(await complete(version, 'version', '', {})).toEqual([]);
    expect(await complete('colloquy://docs/{topic}', 'topic', 'l')).toEqual(['lambdas', 'limits', 'sql']);
  });

  it.each([
    ['colloquy://nothing/{x}', 'x'],
    [`${ROOT}/{workspace}`, 'collection'],
  ])('complete nothing for %s, %s', async (uriTemplate, variable) => {
    await expect(complete(uriTemplate, variable, '')).rejects.toThrow(/no such template or variable/);
  });

  it('refuse a cursor that was not given', async () => {
    await expect(client.listResources({ cursor: 'x' })).rejects.toThrow(/not one that this server gave/);
  });
});

describe('listing many resources', () => {
  it('comes in pages, in one order, whatever is made in between', async () => {
    const own = await openStage();
    const names = Array.from({ length: 230 }, (_, n) => `w${String(n).padStart(3, '0')}`);
    for (const name of names) await own.other.createWorkspace({ name });
    // The modern client joins pages by itself.
    const [legacy] = ERAS;
    const client = await legacy?.open(own.assistant());
    if (client === undefined) throw new Error('no era');
    const uris: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await client.listResources(cursor === undefined ? undefined : { cursor });
      uris.push(...page.resources.map(({ uri }) => uri));
      cursor = page.nextCursor;
      if (pages++ === 0) await own.other.createWorkspace({ name: 'a-first' });
    } while (cursor !== undefined);
    expect(pages).toBe(3);
    expect(new Set(uris).size).toBe(uris.length);
    expect(uris.filter((uri) => /\/w\d+$/.test(uri))).toEqual(names.map((name) => `${ROOT}/${name}`));
    await client.close();
    await own.remove();
  });
});

describe('addresses', () => {
  it.each(['a b', 'x/y', 'ü', 'a.b', '%', '{w}'])('hold any name: %s', (workspace) => {
    const template = `${ROOT}/{workspace}/collections/{collection}`;
    const names = { workspace, collection: 'c' };
    expect(namesIn(template, uriOf(template, names))).toEqual(names);
  });
});
