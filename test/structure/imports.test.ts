import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = resolve(import.meta.dirname, '../../src');

/** Which folders of src each folder may import, besides itself. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  contract: [],
  http: ['contract'],
  mcp: ['contract', 'http'],
  engine: ['contract'],
  service: ['contract', 'engine'],
  local: ['contract', 'http'],
  // It runs in a browser: the server gives it to hosts as a file, and neither contains code of the other.
  view: [],
};

/** Packages that one folder owns. */
const OWNED: Record<string, readonly string[]> = {
  undici: ['http'],
  '@modelcontextprotocol/server': ['mcp'],
  '@modelcontextprotocol/node': ['mcp'],
  '@modelcontextprotocol/client': ['cli'],
  '@modelcontextprotocol/ext-apps': ['view'],
  '@duckdb/node-api': ['engine'],
  fastify: ['service'],
  commander: ['commands.ts'],
  'env-paths': ['default-folders.ts'],
};

/** The layers of `engine/duckdb` that know only connections, wherever the data are: each may import those before it. */
const SHARED_LAYERS = ['sql', 'values', 'connections', 'gate', 'results', 'queries'];
/** Those that know tables; `storage` that they are in one file of the engine. */
const FILE_LAYERS = ['sql', 'values', 'connections', 'storage', 'tables', 'loading', 'exports'];
/** What a lake may know: nothing of the one file. */
const LAKE = 'lake';
const LAKE_MAY_IMPORT = ['sql', 'connections', 'tables', LAKE];
/** Beside the layers: these use them, and they may use all. */
const SHORTCUTS = 'shortcuts';
const SHORTCUT_USERS = ['queries', 'tables'];

/** What the engine may import of the contract: what does not describe the API. */
const ENGINE_MAY_READ = [
  'column-types.ts',
  'errors.ts',
  'json/',
  'nearest.ts',
  'reserved-words.ts',
  'strays.ts',
  'text.ts',
  'turns/',
];

interface Import {
  from: string;
  to: string;
  typeOnly: boolean;
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));

const imports: Import[] = files.flatMap((file) => {
  const text = readFileSync(join(SRC, file), 'utf8');
  const found = text.matchAll(/^(?:import|export)\s+(type\s)?[^;]*?from\s+'([^']+)'|import\(\s*'([^']+)'\s*\)/gms);
  return [...found].map((match) => ({ from: file, to: match[2] ?? match[3] ?? '', typeOnly: match[1] !== undefined }));
});

const inside = imports
  .filter(({ to }) => to.startsWith('.'))
  .map(({ from, to, typeOnly }) => ({ from, to: relative(SRC, resolve(SRC, dirname(from), to)), typeOnly }));

/** Whether a file loads another only when it needs it. */
const isLoadedLater = (from: string, to: string) =>
  new RegExp(`import\\('[^']*${basename(to)}'\\)`).test(readFileSync(join(SRC, from), 'utf8'));

const folderOf = (file: string) => file.split('/')[0] ?? '';

describe('imports inside src', () => {
  it('finds the files and their imports', () => {
    expect(files.length).toBeGreaterThan(20);
    expect(inside.length).toBeGreaterThan(files.length);
  });

  it('keep to the layers of ARCHITECTURE.md', () => {
    const wrong = inside.filter(({ from, to }) => {
      const may = MAY_IMPORT[folderOf(from)];
      return may !== undefined && folderOf(to) !== folderOf(from) && !may.includes(folderOf(to));
    });
    expect(wrong).toEqual([]);
  });

  it('engine reads only types of columns, errors, JSON, nearest names, reserved words, strays, text and turns of the contract', () => {
    const wrong = inside.filter(
      ({ from, to }) =>
        folderOf(from) === 'engine' &&
        folderOf(to) === 'contract' &&
        !ENGINE_MAY_READ.some((allowed) => to.slice(9).startsWith(allowed)),
    );
    expect(wrong).toEqual([]);
  });

  const ofEngine = inside.filter(({ from, to }) => [from, to].every((file) => file.startsWith('engine/duckdb/')));
  const layerOf = (file: string) => file.split('/')[2] ?? '';

  it.each([
    ['for any connection', SHARED_LAYERS],
    ['for one file', FILE_LAYERS],
  ])('of engine/duckdb keep to its layers %s', (_, layers) => {
    const wrong = ofEngine.filter(({ from, to }) => {
      const at = layers.indexOf(layerOf(from));
      if (at === -1 || (SHORTCUT_USERS.includes(layerOf(from)) && layerOf(to) === SHORTCUTS)) return false;
      const target = layers.indexOf(layerOf(to));
      return target === -1 || target > at;
    });
    expect(ofEngine.length).toBeGreaterThan(100);
    expect(wrong).toEqual([]);
  });

  it('of engine/duckdb for a lake know nothing of the one file', () => {
    const ofLake = ofEngine.filter(({ from }) => layerOf(from) === LAKE);
    expect(ofLake.length).toBeGreaterThan(10);
    expect(ofLake.filter(({ to }) => !LAKE_MAY_IMPORT.includes(layerOf(to)))).toEqual([]);
  });

  it('put the engine together in one place', () => {
    const known = new Set([...SHARED_LAYERS, ...FILE_LAYERS, LAKE, SHORTCUTS]);
    const others = ofEngine.filter(({ from }) => !known.has(layerOf(from))).map(({ from }) => from);
    expect(new Set(others)).toEqual(
      new Set(['open.ts', 'open-lake.ts', 'compose.ts', 'parts.ts'].map((name) => `engine/duckdb/${name}`)),
    );
  });

  it('service knows the engine by its port and its openers only', () => {
    const wrong = inside.filter(
      ({ from, to }) =>
        folderOf(from) === 'service' &&
        folderOf(to) === 'engine' &&
        !['engine/engine.ts', 'engine/duckdb/open.ts', 'engine/duckdb/open-lake.ts'].includes(to),
    );
    expect(wrong).toEqual([]);
  });

  it('lead through the gate in one place, which makes what runs of its result', () => {
    const callers = files.filter((file) => readFileSync(join(SRC, file), 'utf8').includes('passGate('));
    expect(callers.toSorted()).toEqual(['engine/duckdb/gate/gate.ts', 'engine/duckdb/gate/parse.ts']);
  });

  it('make no circles, those of types included', () => {
    const edges = new Map<string, string[]>();
    for (const { from, to } of inside) {
      edges.set(from, [...(edges.get(from) ?? []), to]);
    }
    const circles: string[][] = [];
    const done = new Set<string>();
    const visit = (file: string, path: string[]) => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file]);
      if (done.has(file) || path.includes(file)) return;
      for (const next of edges.get(file) ?? []) visit(next, [...path, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
    expect(circles).toEqual([]);
  });
});

describe('packages', () => {
  it('are imported only by the folder that owns them', () => {
    const wrong = imports.filter(({ from, to }) => {
      const owner = Object.entries(OWNED).find(([name]) => to === name || to.startsWith(`${name}/`));
      return owner !== undefined && !owner[1].includes(folderOf(from));
    });
    expect(wrong).toEqual([]);
  });

  it.each([
    ['process.env', ['config.ts', 'native-threads.ts']],
    ['process.argv', ['command-line.ts']],
  ])('%s is read in %j only', (what, expected) => {
    const readers = files.filter((file) => new RegExp(`${what}\\b`).test(readFileSync(join(SRC, file), 'utf8')));
    expect(readers).toEqual(expected);
  });

  it('are not needed by the process that starts the service again, which is to be small', () => {
    const loaded = new Set(['main.ts', 'cli/serve/supervise.ts']);
    for (const file of loaded) {
      for (const { from, to, typeOnly } of inside) {
        if (from === file && !typeOnly && !isLoadedLater(file, to)) loaded.add(to);
      }
    }
    const small = [
      'cli/serve/supervise.ts',
      'command-line.ts',
      'default-folders.ts',
      'local/crash-note.ts',
      'main.ts',
      'native-threads.ts',
      'private-folder.ts',
    ];
    expect([...loaded].toSorted()).toEqual(small);
  });
});
