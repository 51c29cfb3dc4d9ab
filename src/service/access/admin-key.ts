import { randomUUID } from 'node:crypto';
import { chmod, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ApiError } from '../../contract/errors.ts';
import { messageOf } from '../../contract/text.ts';
import { type Catalog, put, remove } from '../catalog/catalog.ts';
import { hashKey, newKey } from './auth.ts';

/** The user that owns the local key. */
export const ADMIN_EMAIL = 'admin@localhost';
/** Name of the local key; where several nodes share the data each has one, behind whose name is the node's. */
const LOCAL_KEY_NAME = 'local-admin';

/** Whether a key of this name is made here; no other key of the user may have it. */
export function isLocalKeyName(name: string): boolean {
  return name === LOCAL_KEY_NAME || name.startsWith(`${LOCAL_KEY_NAME}@`);
}

const OWNER_ONLY = 0o600;

/**
 * Makes sure that `file` contains a valid admin key. If it does not (first start, lost, changed), a new key is created
 * and written, readable by its owner only, and the old one revoked. The metadata gets only the hash. Throws `internal`.
 *
 * @param node what the node is called, where several share the data
 */
export async function ensureAdminKey(catalog: Catalog, file: string, node?: string): Promise<void> {
  try {
    await ensureKey(catalog, file, node === undefined ? LOCAL_KEY_NAME : `${LOCAL_KEY_NAME}@${node}`);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    const why = messageOf(error);
    throw new ApiError('internal', `Cannot keep the admin key in the file "${file}": ${why}.`, { cause: error });
  }
}

async function ensureKey(catalog: Catalog, file: string, name: string): Promise<void> {
  const stored = await readKey(file);
  if (stored !== undefined && catalog.all('apiKey').get(hashKey(stored))?.user === ADMIN_EMAIL) {
    await chmod(file, OWNER_ONLY);
    return;
  }
  const key = newKey();
  // The file first: without the second step, the next start finds a key that does not match, and creates another.
  await writeKey(file, key);
  await catalog.change(() => {
    const old = [...catalog.all('apiKey').values()].filter((one) => one.user === ADMIN_EMAIL && one.name === name);
    const hash = hashKey(key);
    const record = {
      hash,
      user: ADMIN_EMAIL,
      name,
      prefix: key.slice(0, 4),
      createdAt: new Date().toISOString(),
    };
    return {
      changes: [...old.map((one) => remove('apiKey', one.hash)), put('apiKey', hash, record)],
      result: undefined,
    };
  });
}

async function readKey(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Replaces the file in one step, so that a reader never sees half a key. */
async function writeKey(file: string, key: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${randomUUID()}`;
  try {
    const handle = await open(temporary, 'wx', OWNER_ONLY);
    try {
      await handle.writeFile(`${key}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
