import type { Client } from '../../src/http/client.ts';

/** Random numbers from a seed, so that a load can be repeated. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A part of what is stored: text by key. */
export type State = Readonly<Record<string, string>>;

/** One call that changes the state: completely, or not at all. */
export interface Step {
  name: string;
  run(client: Client): Promise<unknown>;
  after: State;
}

/** A caller with data of its own, which makes one change after another. */
export interface Worker {
  name: string;
  /** Creates what the worker needs; called once, before the first round. */
  prepare(client: Client): Promise<void>;
  next(state: State): Step;
  /** What is stored of the worker's data. */
  read(client: Client): Promise<State>;
}

export const WORKSPACE = 'crash';

const BATCH_MAX = 40;
const IDS = 300;
const HEAVY_IDS = 150;
const HEAVY_CHARS = 20_000;
const TRASHED = '(documents in the trash)';

export type Random = () => number;
export const pick = (random: Random, count: number) => Math.floor(random() * count);

/** Different ids below `count`. */
function someIds(random: Random, prefix: string, count: number, most: number): string[] {
  const length = 1 + pick(random, most);
  return [...new Set(Array.from({ length }, () => `${prefix}${pick(random, count)}`))];
}

/** A document that makes columns appear, widen and become JSON; every part of it shows which step wrote it. */
function documentOf(random: Random, id: string, step: number) {
  const mixed = [step, String(step), [step]][pick(random, 3)] as number | string | number[];
  return { _id: id, v: `s${step}`, m: mixed, o: { [`k${pick(random, 12)}`]: `s${step}` } };
}

function textOf({ v, m, o, p }: { v: unknown; m: unknown; o: unknown; p?: unknown }): string {
  const held = Object.entries((o ?? {}) as object).filter(([, value]) => value !== null);
  return JSON.stringify({ v, m, o: Object.fromEntries(held), p: p ?? null });
}

/**
 * Adds, replaces, patches and deletes documents in batches. `deletes`: this is the only worker that deletes from its
 * collection.
 */
export function documentsWorker(collection: string, prefix: string, random: Random, deletes: boolean): Worker {
  let step = 0;
  const place = { workspace: WORKSPACE, collection };

  function add(state: State, ids: readonly string[], pad: number): Step {
    const documents = ids.map((id) => documentOf(random, id, step));
    const padding =
      pad === 0 ? {} : { pad: Array.from({ length: pad / 10 }, () => random().toString(36).slice(2, 12)).join('') };
    const added = Object.fromEntries(documents.map((document) => [document._id, textOf(document)]));
    // Of several documents with one id, the last is stored.
    const doubled = random() < 0.2 ? ids.slice(0, 2).map((id) => documentOf(random, id, step - 1)) : [];
    return {
      name: `add ${ids.length} documents`,
      run: (client) =>
        client.addDocuments({ ...place, data: [...doubled, ...documents.map((one) => ({ ...one, ...padding }))] }),
      after: { ...state, ...added },
    };
  }

  function patch(state: State, ids: readonly string[]): Step {
    const data = ids.map((_id) => ({
      _id,
      patch: [
        { op: 'add', path: '/p', value: `s${step}` },
        { op: 'replace', path: '/v', value: `s${step}` },
      ],
    }));
    const patched = ids.map((id) => [id, textOf({ ...JSON.parse(state[id] ?? '{}'), p: `s${step}`, v: `s${step}` })]);
    return {
      name: `patch ${ids.length} documents`,
      run: (client) => client.patchDocuments({ ...place, data }),
      after: { ...state, ...Object.fromEntries(patched) },
    };
  }

  function remove(state: State, ids: readonly string[]): Step {
    const left = Object.fromEntries(Object.entries(state).filter(([id]) => !ids.includes(id)));
    const trashed = Number(state[TRASHED]) + ids.length;
    return {
      name: `delete ${ids.length} documents`,
      run: (client) => client.deleteDocuments({ ...place, data: ids.map((_id) => ({ _id })) }),
      after: { ...left, [TRASHED]: String(trashed) },
    };
  }

  return {
    name: `${collection}/${prefix}`,
    async prepare(client) {
      await client.createCollection({ workspace: WORKSPACE, name: collection }).catch(() => undefined);
      const seed = { ...documentOf(random, `${prefix}seed`, 0), m: 0, p: 's0', pad: '' };
      await client.addDocuments({ ...place, data: [seed] });
    },
    next(state) {
      step += 1;
      const kind = random();
      const stored = Object.keys(state).filter((id) => id !== TRASHED);
      const known = [
        ...new Set(
          Array.from({ length: 1 + pick(random, BATCH_MAX) }, () => stored[pick(random, stored.length)] ?? ''),
        ),
      ];
      if (kind < 0.12) return add(state, someIds(random, `${prefix}h`, HEAVY_IDS, HEAVY_IDS), HEAVY_CHARS);
      if (kind < 0.5 || stored.length === 0) return add(state, someIds(random, prefix, IDS, BATCH_MAX), 0);
      if (kind < 0.8 || !deletes) return patch(state, known);
      return remove(state, known);
    },
    async read(client) {
      const sql = `SELECT _id, v, m, o, p FROM "${WORKSPACE}"."${collection}" WHERE starts_with(_id, '${prefix}') LIMIT 50000`;
      const { results } = await client.runQuery({ sql: { query: sql } });
      const rows = (results ?? []) as Record<string, unknown>[];
      const state: Record<string, string> = {};
      for (const { _id, v, m, o, p } of rows) {
        const id = String(_id);
        // Two documents with one id must not look like one.
        const key = id in state ? `${id} (again)` : id;
        state[key] = textOf({ v, m, o, p });
      }
      if (deletes) {
        const entries = (await client.listTrash({})).filter(
          (one) => one.kind === 'documents' && one.name === collection,
        );
        state[TRASHED] = String(entries.reduce((sum, { documents }) => sum + (documents ?? 0), 0));
      }
      return state;
    },
  };
}

/** Creates and deletes collections and aliases, and checks that each listed collection can be queried. */
export function metadataWorker(random: Random): Worker {
  let step = 0;
  const workspace = `${WORKSPACE}.meta`;
  return {
    name: 'metadata',
    prepare: async (client) => {
      await client.createWorkspace({ name: workspace });
    },
    next(state) {
      step += 1;
      const collections = Object.keys(state).filter((key) => key.startsWith('c'));
      const aliases = Object.keys(state).filter((key) => key.startsWith('a'));
      const used = new Set(Object.values(state));
      const free = collections.filter((name) => !used.has(name));
      const some = collections[pick(random, collections.length)] ?? '';
      const alias = aliases[pick(random, aliases.length)] ?? '';
      const without = (gone: string) => Object.fromEntries(Object.entries(state).filter(([key]) => key !== gone));
      const kind = random();
      if (collections.length < 3 || (kind < 0.3 && collections.length < 12)) {
        const name = `c${step}`;
        return {
          name: `create collection ${name}`,
          run: (client) => client.createCollection({ workspace, name, retention_secs: 3_600 }),
          after: { ...state, [name]: '' },
        };
      }
      if (aliases.length < 2 || (kind < 0.5 && aliases.length < 6)) {
        const name = `a${step}`;
        return {
          name: `create alias ${name}`,
          run: (client) => client.createAlias({ workspace, name, collections: [`${workspace}.${some}`] }),
          after: { ...state, [name]: some },
        };
      }
      if (kind < 0.65) {
        return {
          name: `move alias ${alias}`,
          run: (client) => client.updateAlias({ workspace, alias, collections: [`${workspace}.${some}`] }),
          after: { ...state, [alias]: some },
        };
      }
      const [gone] = free;
      if (kind < 0.8 || gone === undefined) {
        return {
          name: `delete alias ${alias}`,
          run: (client) => client.deleteAlias({ workspace, alias }),
          after: without(alias),
        };
      }
      return {
        name: `delete collection ${gone}`,
        run: (client) => client.deleteCollection({ workspace, collection: gone }),
        after: without(gone),
      };
    },
    async read(client) {
      const state: Record<string, string> = {};
      const query = (name: string) =>
        client.runQuery({ sql: { query: `SELECT count(*) FROM "${workspace}"."${name}"` } });
      for (const { name } of await client.listWorkspaceCollections({ workspace })) {
        await query(String(name));
        state[String(name)] = '';
      }
      for (const { name, collections } of await client.listWorkspaceAliases({ workspace })) {
        await query(String(name));
        state[String(name)] = (collections ?? []).map((path) => path.slice(workspace.length + 1)).join();
      }
      return state;
    },
  };
}

/** Creates Query Lambdas, their versions and tags; a version is identified by its SQL. */
export function lambdaWorker(random: Random): Worker {
  let step = 0;
  const workspace = WORKSPACE;
  /** Version by the lambda and its SQL. */
  const versions = new Map<string, string>();
  const sqlOf = (text: string | undefined) =>
    JSON.parse(text ?? '{}') as { sql: string[]; tags: Record<string, string> };
  const text = (sql: readonly string[], tags: object) =>
    JSON.stringify({ sql: sql.toSorted(), tags: Object.fromEntries(Object.entries(tags).toSorted()) });
  return {
    name: 'lambdas',
    prepare: async () => undefined,
    next(state) {
      step += 1;
      const names = Object.keys(state);
      const name = names[pick(random, names.length)] ?? '';
      const sql = `SELECT ${step} AS step`;
      const kind = random();
      if (names.length < 2 || (kind < 0.25 && names.length < 8)) {
        const made = `l${step}`;
        return {
          name: `create lambda ${made}`,
          run: (client) => client.createLambda({ workspace, name: made, sql: { query: sql } }),
          after: { ...state, [made]: text([sql], {}) },
        };
      }
      const { sql: all, tags } = sqlOf(state[name]);
      const target = all[pick(random, all.length)] ?? '';
      const version = versions.get(`${name}\n${target}`);
      if (kind < 0.55 || (version === undefined && kind < 0.9)) {
        return {
          name: `version of lambda ${name}`,
          run: (client) => client.createLambdaVersion({ workspace, queryLambda: name, sql: { query: sql } }),
          after: { ...state, [name]: text([...all, sql], tags) },
        };
      }
      if (kind < 0.9 && version !== undefined) {
        const tag = `t${pick(random, 3)}`;
        return {
          name: `tag ${tag} of lambda ${name}`,
          run: (client) => client.tagLambdaVersion({ workspace, queryLambda: name, tag_name: tag, version }),
          after: { ...state, [name]: text(all, { ...tags, [tag]: target }) },
        };
      }
      return {
        name: `delete lambda ${name}`,
        run: (client) => client.deleteLambda({ workspace, queryLambda: name }),
        after: Object.fromEntries(Object.entries(state).filter(([key]) => key !== name)),
      };
    },
    async read(client) {
      const state: Record<string, string> = {};
      versions.clear();
      for (const { name } of await client.listWorkspaceLambdas({ workspace })) {
        const queryLambda = String(name);
        const found = await client.listLambdaVersions({ workspace, queryLambda });
        for (const { version, sql } of found) versions.set(`${queryLambda}\n${sql?.query}`, String(version));
        const tagged = await client.listLambdaTags({ workspace, queryLambda });
        const own = tagged.filter(({ tag_name: tag }) => tag !== 'latest');
        const tags = Object.fromEntries(own.map((tag) => [tag.tag_name, tag.version?.sql?.query]));
        state[queryLambda] = text(
          found.map(({ sql }) => String(sql?.query)),
          tags,
        );
      }
      return state;
    },
  };
}
