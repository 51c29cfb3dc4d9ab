// Packs the built program and the engine for this platform into one file that Claude Desktop and others install.
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { zipSync } from 'fflate';
import { checkManifest } from './mcpb-manifest.mjs';
import { filesIn, packagesFor } from './production.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const outdir = resolve(process.argv[2] ?? root);
// A fixed time for all files, so that equal content gives an equal bundle.
const WHEN = new Date(1980, 0, 1, 12);
const NOT_RUN = /\.(d\.[cm]?ts|map|ts|md)$/;

const readJson = async (path) => JSON.parse(await readFile(path, 'utf8'));

const manifest = await readJson(join(root, 'manifest.json'));
const project = await readJson(join(root, 'package.json'));
const folders = [['dist', join(root, 'dist'), (file) => !file.startsWith(`demo${sep}`)]];
for (const [name, folder] of await packagesFor(root, { dependencies: project.dependencies })) {
  folders.push([`node_modules/${name}`, folder, (file) => !NOT_RUN.test(file)]);
}

const texts = {
  // It contains the engine for this platform only.
  'manifest.json': { ...manifest, compatibility: { ...manifest.compatibility, platforms: [process.platform] } },
  'package.json': { name: project.name, version: project.version, license: project.license, type: project.type },
};
const files = Object.fromEntries(
  Object.entries(texts).map(([name, value]) => [name, Buffer.from(`${JSON.stringify(value, null, 2)}\n`)]),
);
files['LICENSE'] = await readFile(join(root, 'LICENSE'));
for (const [name, folder, isWanted] of folders) {
  for (const file of (await filesIn(folder)).filter(isWanted).sort()) {
    files[`${name}/${file.split(sep).join('/')}`] = await readFile(join(folder, file));
  }
}
checkManifest(texts['manifest.json'], (path) => path in files);

const zipped = zipSync(
  Object.fromEntries(
    Object.entries(files).map(([name, bytes]) => [name, [bytes, { os: 3, attrs: modeOf(name) << 16 }]]),
  ),
  { level: 6, mtime: WHEN },
);
const file = join(outdir, `${manifest.name}-${process.platform}-${process.arch}.mcpb`);
await mkdir(outdir, { recursive: true });
await writeFile(`${file}.part`, zipped);
await rename(`${file}.part`, file);
const unpacked = Object.values(files).reduce((sum, { length }) => sum + length, 0);
const { size } = await stat(file);
const mb = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
console.log(`${file}: ${mb(size)}, ${Object.keys(files).length} files of ${mb(unpacked)}`);

/** Unix mode of a regular file, executable if it is a program or a library. */
function modeOf(name) {
  return 0o100000 | (/\.(node|so|dylib|dll)$|^dist\/colloquy\.js$/.test(name) ? 0o755 : 0o644);
}
