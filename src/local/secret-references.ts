import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from 'node:fs';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { ApiError } from '../contract/errors.ts';

/** A secret is a password or an account's key file; anything longer is something else. */
export const SECRET_BYTES_MAX = 64 * 1024;
const SHOWN_CHARS_MAX = 200;

export interface SecretPlaces {
  /** The only variables that references may name. */
  variables: ReadonlyMap<string, string>;
  /** The folder for files with secrets. */
  folder: string;
}

/**
 * Makes the function that resolves references to secrets: `env:NAME` is one of `variables`; `file:PATH` is a regular
 * file of at most 64 kB in `folder`, which links must not lead out of. A line break at the end is not part of the
 * secret. Throws `invalid_input` for anything else; the message names the reference, never the content.
 */
export function secretReader({ variables, folder }: SecretPlaces): (reference: string) => string {
  return (reference) => {
    const refuse = (why: string): never => {
      const shown = JSON.stringify(reference.slice(0, SHOWN_CHARS_MAX));
      throw new ApiError('invalid_input', `Cannot use the reference ${shown}: ${why}`);
    };
    const colon = reference.indexOf(':');
    const [kind, name] = [reference.slice(0, colon), reference.slice(colon + 1)];
    const found = kind === 'env' ? variables.get(name) : kind === 'file' ? readInside(folder, name, refuse) : undefined;
    if (found === undefined && kind === 'env') {
      return refuse(
        `no such variable may be named. The operator sets COLLOQUY_SECRET_<NAME> in the environment of this server, and env:COLLOQUY_SECRET_<NAME> stands for it.`,
      );
    }
    const secret = found?.replace(/\r?\n$/, '');
    return secret === undefined || secret === '' ? refuse('it is empty.') : secret;
  };
}

function readInside(folder: string, name: string, refuse: (why: string) => never): string {
  const wanted = resolve(folder, name);
  // Before anything is looked up, so that nobody learns whether a file exists elsewhere.
  if (!isInside(folder, wanted)) refuse(`it is not in the folder for secrets, ${JSON.stringify(folder)}.`);
  let file: number;
  try {
    const real = realpathSync(wanted);
    if (!isInside(realpathSync(folder), real)) refuse('it leads out of the folder for secrets.');
    // Non-blocking: a pipe without a writer would block this process for ever.
    file = openSync(real, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    if (error instanceof ApiError) throw error;
    return refuse(`it cannot be read (${codeOf(error)}). Secrets lie in the folder ${JSON.stringify(folder)}.`);
  }
  try {
    const found = fstatSync(file);
    if (!found.isFile()) refuse('it is no regular file.');
    if (found.size > SECRET_BYTES_MAX) refuse(`it is longer than ${SECRET_BYTES_MAX / 1024} kB.`);
    const bytes = Buffer.alloc(SECRET_BYTES_MAX + 1);
    let length = 0;
    for (let count = -1; count !== 0 && length < bytes.length; length += count) {
      count = readSync(file, bytes, length, bytes.length - length, null);
    }
    if (length > SECRET_BYTES_MAX) refuse(`it is longer than ${SECRET_BYTES_MAX / 1024} kB.`);
    return bytes.toString('utf8', 0, length);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    return refuse(`it cannot be read (${codeOf(error)}).`);
  } finally {
    closeSync(file);
  }
}

function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'it failed';
}
