// Makes the demo's data from the npm package vega-datasets: three real, freely usable data sets as JSON documents.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

// The package's `exports` hide these files from the resolver; a dev dependency is always in this folder.
const packageDir = fileURLToPath(new URL('../node_modules/vega-datasets/', import.meta.url));

/** The demo's collections: the package's file, its description, our changes, and how to make documents from it. */
const COLLECTIONS = {
  earthquakes: {
    file: 'earthquakes.json',
    changed: 'Each feature is one document; `id` became `_id`, and `properties.time` is also the `_event_time`.',
    documents: (text) =>
      JSON.parse(text).features.map(({ id, ...feature }) => ({
        _id: id,
        _event_time: new Date(feature.properties.time).toISOString(),
        ...feature,
      })),
  },
  birdstrikes: {
    file: 'birdstrikes.csv',
    changed: 'Every fourth row is one document; text that is a number became a number, the rest stayed text.',
    documents: (text) => csvRows(text).filter((_row, index) => index % 4 === 0),
  },
  capitals: {
    file: 'us-state-capitals.json',
    changed: 'Each entry is one document, unchanged.',
    documents: (text) => JSON.parse(text),
  },
};

/** The rows of a CSV text without quotes, as objects, with cells converted as exporters commonly do. */
function csvRows(text) {
  // Splitting at commas is only right without quotes. This file has none, but a later edition may.
  if (text.includes('"')) throw new Error('The CSV has quoted fields: this reader does not know them.');
  const [header, ...lines] = text.trimEnd().split(/\r?\n/);
  const names = header.split(',');
  return lines.map((line, index) => {
    const cells = line.split(',');
    if (cells.length !== names.length)
      throw new Error(`Row ${index + 1} has ${cells.length} cells, not ${names.length}`);
    return Object.fromEntries(names.map((name, at) => [name, converted(cells[at])]));
  });
}

/** A number if the text is exactly how JavaScript writes one, so that nothing is lost ("007" and "1e3" stay text). */
function converted(text) {
  const number = Number(text);
  return Number.isFinite(number) && String(number) === text ? number : text;
}

const links = (entries) => entries.map(({ title, path }) => `[${title}](${path})`).join(', ');

function sourceSection(name, { file, changed }, count, resources) {
  const resource = resources.find(({ path }) => path === file);
  if (resource === undefined) throw new Error(`datapackage.json of vega-datasets does not describe ${file}`);
  return [
    `## ${name} (${count.toLocaleString('en-US')} documents)`,
    '',
    resource.description.replaceAll(/\s*\n\s*/g, '\n').trim(),
    '',
    `- Source: ${links(resource.sources)}`,
    `- Licence: ${links(resource.licenses)}`,
    `- File: \`data/${file}\` of vega-datasets`,
    `- Changed: ${changed}`,
    '',
  ].join('\n');
}

/**
 * Writes `<name>.json.gz` (a JSON array of documents) per collection and `SOURCES.md` into `outdir`.
 *
 * @param {string} outdir
 */
export async function makeDemoData(outdir) {
  const { version, resources } = JSON.parse(await readFile(join(packageDir, 'datapackage.json'), 'utf8'));
  const sections = [
    '# Where the demo data comes from\n',
    `All files were taken from the npm package vega-datasets ${version}; its \`datapackage.json\` is the source of this page.\n`,
  ];
  await mkdir(outdir, { recursive: true });
  for (const [name, collection] of Object.entries(COLLECTIONS)) {
    const documents = collection.documents(await readFile(join(packageDir, 'data', collection.file), 'utf8'));
    await writeFile(join(outdir, `${name}.json.gz`), gzipSync(JSON.stringify(documents), { level: 9 }));
    sections.push(sourceSection(name, collection, documents.length, resources));
  }
  await writeFile(join(outdir, 'SOURCES.md'), sections.join('\n'));
}
