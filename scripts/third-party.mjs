// Collects the licences of everything that the bundle contains, as these licences require.
import { readdir, readFile, writeFile } from 'node:fs/promises';

const PACKAGE = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//;

/**
 * Writes the notices of all packages whose files went into a build.
 *
 * @param {import('esbuild').Metafile} metafile
 * @param {string} root folder that the metafile's paths start from, with a slash at the end
 * @param {string} file
 */
export async function writeThirdPartyNotices(metafile, root, file) {
  const folders = new Set();
  for (const output of Object.values(metafile.outputs)) {
    for (const input of Object.keys(output.inputs)) {
      const folder = PACKAGE.exec(input)?.[1];
      if (folder !== undefined) folders.add(folder);
    }
  }
  const notices = await Promise.all([...folders].sort().map((folder) => noticeOf(`${root}${folder}`)));
  await writeFile(file, `Colloquy contains these packages.\n\n${notices.join(`\n${'-'.repeat(80)}\n\n`)}`);
}

async function noticeOf(folder) {
  const { name, version, license } = JSON.parse(await readFile(`${folder}/package.json`, 'utf8'));
  const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
  const texts = await Promise.all(files.map((file) => readFile(`${folder}/${file}`, 'utf8')));
  return [`${name} ${version} (${license ?? 'see below'})`, '', ...texts.map((text) => `${text.trim()}\n`)].join('\n');
}
