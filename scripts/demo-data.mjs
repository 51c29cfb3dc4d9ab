// Makes the demo's data from the npm package vega-datasets: a real, freely usable data set as JSON documents.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

// The package's `exports` hide these files from the resolver; a dev dependency is always in this folder.
const packageDir = fileURLToPath(new URL('../node_modules/vega-datasets/', import.meta.url));
const FILE = 'earthquakes.json';

const links = (entries) => entries.map(({ title, path }) => `[${title}](${path})`).join(', ');

/**
 * Writes `earthquakes.json.gz` (a JSON array of documents) and `SOURCES.md` into `outdir`.
 *
 * @param {string} outdir
 */
export async function makeDemoData(outdir) {
  const { version, resources } = JSON.parse(await readFile(`${packageDir}datapackage.json`, 'utf8'));
  const { description, sources, licenses } = resources.find(({ path }) => path === FILE);
  const { features } = JSON.parse(await readFile(`${packageDir}data/${FILE}`, 'utf8'));
  const documents = features.map(({ id, ...feature }) => {
    return { _id: id, _event_time: new Date(feature.properties.time).toISOString(), ...feature };
  });
  const page = `# Where the demo data comes from

\`${FILE}\`, ${documents.length} documents: ${description.trim()}

- Source: ${links(sources)}
- Licence: ${links(licenses)}
- Taken from: \`data/${FILE}\` of the npm package vega-datasets ${version}
- Changed: each feature is one document; \`id\` became \`_id\`, and \`properties.time\` is also the \`_event_time\`
`;
  await mkdir(outdir, { recursive: true });
  await writeFile(`${outdir}/${FILE}.gz`, gzipSync(JSON.stringify(documents), { level: 9 }));
  await writeFile(`${outdir}/SOURCES.md`, page);
}
