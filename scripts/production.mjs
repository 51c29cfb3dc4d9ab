// The packages and files of which an installation consists, as they are on this disk.
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';

const readJson = async (path) => JSON.parse(await readFile(path, 'utf8'));

/** The packages that `project` needs on this platform, dependencies included: folders by path below `node_modules`. */
export async function packagesFor(root, project) {
  const found = new Map();
  await addPackages(resolve(root), resolve(root), project, found);
  return found;
}

async function addPackages(root, from, { dependencies = {}, optionalDependencies = {}, ...rest }, found) {
  const { peerDependencies = {}, peerDependenciesMeta = {} } = rest;
  const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
  for (const name of new Set([...Object.keys(dependencies), ...Object.keys(optionalDependencies), ...peers])) {
    const folder = await installed(root, from, name);
    if (folder === undefined) {
      if (!(name in dependencies) || name in optionalDependencies) continue;
      throw new Error(`${name} is not installed; run npm ci`);
    }
    const made = await readJson(join(folder, 'package.json'));
    const isHere = [made.os ?? [process.platform], made.cpu ?? [process.arch]];
    if (!isHere[0].includes(process.platform) || !isHere[1].includes(process.arch)) continue;
    const path = relative(join(root, 'node_modules'), folder);
    if (found.has(path)) continue;
    found.set(path, folder);
    await addPackages(root, folder, made, found);
  }
}

/** The folder from which Node.js would load a package; undefined if it is not installed. */
async function installed(root, from, name) {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (await stat(join(candidate, 'package.json')).catch(() => undefined)) return candidate;
    if (folder === root) return undefined;
  }
}

/** All files of a package, by their paths inside it, without the packages installed in it. */
export async function filesIn(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  return paths.filter((path) => !path.startsWith('node_modules'));
}

/** Total size of the files of some packages, in bytes. */
export async function bytesOf(folders) {
  let bytes = 0;
  for (const folder of folders) {
    for (const file of await filesIn(folder)) bytes += (await stat(join(folder, file))).size;
  }
  return bytes;
}
