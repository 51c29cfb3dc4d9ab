// Installs each library at the versions that this folder pins, in an environment of its own that is kept for the next run.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const INSTALL_MAX_MS = 20 * 60_000;

/** `short`: part of the short form, which CI runs. `driver`: the files that make it, of which the first pins versions. */
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
    pins: `python/${name}.txt`,
    install: pythonEnvironment,
    command: (folder) => [join(folder, 'bin/python'), join(HERE, `python/${name}_driver.py`)],
  })),
];

/** Runs an installer; throws with what it printed if it fails. */
function run(command, args, env = {}) {
  const options = { env: { ...process.env, ...env }, encoding: 'utf8', timeout: INSTALL_MAX_MS };
  const { status, error, stdout, stderr } = spawnSync(command, args, options);
  if (status === 0) return;
  throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? `ended with ${status}`}\n${stdout}\n${stderr}`);
}

function pythonEnvironment(folder, pins) {
  run('python3', ['-m', 'venv', folder]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--disable-pip-version-check', '--no-compile'];
  run(join(folder, 'bin/python'), [...pip, '-r', pins]);
}

/** Whether the program that makes the environment is on this machine. */
export function isPossible({ needs }) {
  return spawnSync('sh', ['-c', 'command -v "$0"', needs]).status === 0;
}

/** The environment of a library below `cache`, made if it is not there; how to run its driver. */
export function environmentOf({ name, pins, install, command }, cache) {
  const file = join(HERE, pins);
  const state = createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 12);
  const folder = join(cache, `${name}-${state}`);
  const mark = join(folder, 'complete');
  if (!existsSync(mark)) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(cache, { recursive: true });
    install(folder, file);
    writeFileSync(mark, '');
  }
  return command(folder);
}
