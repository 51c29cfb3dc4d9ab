import { createCipheriv, createDecipheriv, createHash, randomBytes, randomUUID } from 'node:crypto';
import { chmod, link, mkdir, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import * as z from 'zod';
import { ApiError } from '../../contract/errors.ts';
import { type JsonValue, parseJson, stringifyJson } from '../../contract/json/json.ts';
import { messageOf } from '../../contract/text.ts';
import { syncFolder, writeDurably } from '../backups/durable-files.ts';

/** An encrypted value as stored: AES-256-GCM, in base64. */
export const Sealed = z.object({
  /** Tells keys apart without revealing anything about them. */
  keyId: z.string(),
  iv: z.string(),
  tag: z.string(),
  data: z.string(),
});
export type Sealed = z.infer<typeof Sealed>;

/** Encrypts with the key of the data folder. */
export interface Sealer {
  keyId: string;
  /** `owner` names what the value belongs to; it can be decrypted for the same owner only. */
  seal(value: JsonValue, owner: string): Sealed;
}

/** Encryption of what must not be readable in the database. The key is in a file, which is read at each use. */
export interface Secrets {
  file: string;
  /** Undefined if there is no key file and `make` is false. Rejects `internal` if the key file cannot be used. */
  sealer(options: { make: boolean }): Promise<Sealer | undefined>;
  /** Rejects `internal` if the key file is gone, or is not the one that the value was encrypted with. */
  open(sealed: Sealed, owner: string): Promise<JsonValue>;
}

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
// The standard size for GCM; random IVs of this size are safe for 2^32 values per key.
const IV_BYTES = 12;
const TAG_BYTES = 16;
const OWNER_ONLY = 0o600;
const KEY_TEXT = /^[0-9a-f]{64}$/;
const RESTORE = 'Put back the file that was in the data folder when it was stored, or delete it and create it again';

/** Secrets under the key in `file`, which is created when the first secret is encrypted. */
export function openSecrets(file: string): Secrets {
  return {
    file,
    async sealer({ make }) {
      const key = await guarded(file, async () => (await readKey(file)) ?? (make ? await makeKey(file) : undefined));
      if (key === undefined) return undefined;
      const keyId = idOf(key);
      return { keyId, seal: (value, owner) => ({ keyId, ...encrypt(key, stringifyJson(value), owner) }) };
    },
    async open(sealed, owner) {
      const key = await guarded(file, () => readKey(file));
      const what = `Cannot read the secrets of ${owner}`;
      if (key === undefined) {
        throw new ApiError('internal', `${what}: the key file "${file}" is missing. ${RESTORE}.`);
      }
      if (idOf(key) !== sealed.keyId) {
        throw new ApiError('internal', `${what}: they were encrypted with another key than "${file}". ${RESTORE}.`);
      }
      try {
        return parseJson(decrypt(key, sealed, owner));
      } catch {
        // Without the cause: a parser's message may quote what it read.
        throw new ApiError('internal', `${what}: what is stored of them is damaged. Delete it and create it again.`);
      }
    },
  };
}

function encrypt(key: Buffer, text: string, owner: string): Omit<Sealed, 'keyId'> {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(owner));
  const data = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return { iv: iv.toString('base64'), tag: cipher.getAuthTag().toString('base64'), data: data.toString('base64') };
}

function decrypt(key: Buffer, sealed: Sealed, owner: string): string {
  const iv = Buffer.from(sealed.iv, 'base64');
  const decipher = createDecipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(owner))
    .setAuthTag(Buffer.from(sealed.tag, 'base64'));
  return Buffer.concat([decipher.update(sealed.data, 'base64'), decipher.final()]).toString('utf8');
}

/** The key has 256 random bits, so its hash cannot be reversed. */
function idOf(key: Buffer): string {
  return createHash('sha256').update('colloquy key id').update(key).digest('hex').slice(0, 16);
}

async function guarded<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ApiError) throw error;
    const why = messageOf(error);
    throw new ApiError('internal', `Cannot use the key file "${file}": ${why}.`, { cause: error });
  }
}

async function readKey(file: string): Promise<Buffer | undefined> {
  let text: string;
  try {
    text = (await readFile(file, 'utf8')).trim();
    await chmod(file, OWNER_ONLY);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  if (KEY_TEXT.test(text)) return Buffer.from(text, 'hex');
  throw new ApiError(
    'internal',
    `Cannot use the key file "${file}": it does not hold one key of 64 hexadecimal digits. Put back the file as it was.`,
  );
}

/** Creates the key file in one step, and never replaces an existing one, since two calls may try at once. */
async function makeKey(file: string): Promise<Buffer> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${randomUUID()}`;
  try {
    await writeDurably(temporary, `${randomBytes(KEY_BYTES).toString('hex')}\n`);
    await link(temporary, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(temporary, { force: true });
  }
  // A secret must not become durable before the name of its key file is.
  await syncFolder(dirname(file));
  const key = await readKey(file);
  if (key === undefined) throw new Error('it vanished while it was made');
  return key;
}
