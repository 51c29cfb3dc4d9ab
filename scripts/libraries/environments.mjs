// Installs each library at the versions pinned here, in an environment of its own that is kept for the next run.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const INSTALL_MAX_MS = 20 * 60_000;

/** `isShort`: part of the short form, which CI runs. `sources`: what is installed follows from these files. */
export const LIBRARIES = [
  ...[
    ['autogen', 'short'],
    ['mcp_use', 'short'],
    ['langchain', 'short'],
    ['fastmcp'],
    ['openai_agents'],
    ['pydantic_ai'],
    ['google_adk'],
    ['semantic_kernel'],
    ['python'],
  ].map(([name, short]) => ({
    name,
    isShort: short !== undefined,
    needs: 'python3',
    sources: [`python/${name}.txt`],
    install: pythonEnvironment,
    command: (folder) => [join(folder, 'bin/python'), join(HERE, `python/${name}_driver.py`)],
  })),
  {
    name: 'go',
    needs: 'go',
    sources: ['go/go.sum', 'go/go.mod', 'go/main.go'],
    install: (folder) => run('go', ['build', '-C', join(HERE, 'go'), '-o', join(folder, 'driver'), '.']),
    command: (folder) => [join(folder, 'driver')],
  },
  {
    name: 'java',
    needs: 'mvn',
    sources: ['java/pom.xml', 'java/src/Driver.java'],
    install: (folder) => run('mvn', ['-q', '-B', '-f', join(HERE, 'java'), `-Dout=${folder}`, 'process-classes']),
    command: (folder) => ['java', '-cp', `${folder}/classes:${folder}/dependency/*`, 'Driver'],
  },
  {
    name: 'rust',
    needs: 'cargo',
    sources: ['rust/Cargo.lock', 'rust/Cargo.toml', 'rust/src/main.rs'],
    install: (folder) =>
      run('cargo', ['build', '-q', '--locked', '--manifest-path', join(HERE, 'rust/Cargo.toml')], {
        CARGO_TARGET_DIR: folder,
      }),
    command: (folder) => [join(folder, 'debug/driver')],
  },
];

/** Runs an installer; throws with what it printed if it fails. */
function run(command, args, env = {}) {
  const options = { env: { ...process.env, ...env }, encoding: 'utf8', timeout: INSTALL_MAX_MS };
  const { status, error, stdout, stderr } = spawnSync(command, args, options);
  if (status === 0) return;
  throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? `ended with ${status}`}\n${stdout}\n${stderr}`);
}

function pythonEnvironment(folder, [pins]) {
  run('python3', ['-m', 'venv', folder]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--disable-pip-version-check', '--no-compile'];
  run(join(folder, 'bin/python'), [...pip, '-r', pins]);
}

/** Whether the program that makes the environment is on this machine. */
export function isPossible({ needs }) {
  return spawnSync('sh', ['-c', 'command -v "$0"', needs]).status === 0;
}

/** The environment of a library below `cache`, made if it is not there; how to run its driver. */
export function environmentOf({ name, sources, install, command }, cache) {
  const files = sources.map((source) => join(HERE, source));
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(file));
  const state = hash.digest('hex').slice(0, 12);
  const folder = join(cache, `${name}-${state}`);
  const mark = join(folder, 'complete');
  if (!existsSync(mark)) {
    console.log(`installing ${name}`);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(cache, { recursive: true });
    install(folder, files);
    writeFileSync(mark, '');
  }
  return command(folder);
}
