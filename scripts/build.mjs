// Builds the program: one entry file, and chunks that are loaded only when they are used.
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { applied } from './applied.mjs';
import { contentOf, stampBuild, UNSTAMPED } from './build-time.mjs';
import { makeDemoData } from './demo-data.mjs';
import { writeThirdPartyNotices } from './third-party.mjs';
import { computedToolCards } from './tool-cards.mjs';
import { buildView } from './view.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const { version } = JSON.parse(await readFile(`${root}package.json`, 'utf8'));
const dist = `${root}dist`;
// Built beside `dist` and moved into place as a whole, so that nothing ever runs from an incomplete folder.
const outdir = `${dist}.${process.pid}`;

/**
 * The SDK loads and compiles a JSON Schema validator at once, but needs it only when a client of the older protocol
 * answers a question. So it is created then; what it checks stays the same.
 */
const validatorWhenNeeded = {
  name: 'validator-when-needed',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^@modelcontextprotocol\/server\/_shims$/ }, () => ({
      path: 'shims',
      namespace: 'when-needed',
    }));
    onLoad({ filter: /^shims$/, namespace: 'when-needed' }, () => ({
      resolveDir: root,
      contents: `
        import process from 'node:process';
        class DefaultJsonSchemaValidator {
          getValidator(schema) {
            this.made ??= new (require('@modelcontextprotocol/server/validators/ajv').AjvJsonSchemaValidator)();
            return this.made.getValidator(schema);
          }
        }
        export { DefaultJsonSchemaValidator, process };`,
    }));
  },
};

const asEverywhere = {
  absWorkingDir: root,
  platform: 'node',
  target: 'node20.19',
  loader: { '.md': 'text' },
  logLevel: 'warning',
};

try {
  const { metafile } = await build({
    ...asEverywhere,
    entryPoints: { colloquy: 'src/main.ts' },
    outdir,
    bundle: true,
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    format: 'esm',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    metafile: true,
    define: { COLLOQUY_VERSION: JSON.stringify(version), COLLOQUY_BUILD: JSON.stringify(UNSTAMPED) },
    plugins: [validatorWhenNeeded, computedToolCards(outdir, asEverywhere)].map(applied),
    // The engine's native code stays a dependency; everything else is bundled, including the many small files around
    // the engine, which take longer to load than all the rest.
    external: ['@duckdb/node-bindings'],
    // Its entry for Node.js asks for its other files in a way that no bundler sees.
    alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
    // CommonJS packages inside an ES module still need `require`.
    banner: {
      js: "import{createRequire as __colloquyRequire}from'node:module';const require=__colloquyRequire(import.meta.url);",
    },
  });
  await mkdir(`${outdir}/view`);
  await writeFile(`${outdir}/view/result.html`, await buildView(root, version));
  await makeDemoData(`${outdir}/demo`);
  await writeThirdPartyNotices(metafile, root, `${outdir}/THIRD-PARTY-NOTICES.txt`);
  await stampBuild(outdir, await contentOf(outdir), dist);
  await chmod(`${outdir}/colloquy.js`, 0o755);
  await rm(dist, { recursive: true, force: true });
  await rename(outdir, dist);
} catch (error) {
  await rm(outdir, { recursive: true, force: true });
  throw error;
}
