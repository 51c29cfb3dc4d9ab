import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { ApiError } from '../../contract/errors.ts';
import type { TlsFiles } from '../../service/app/listen.ts';
import type { Config } from '../../settings.ts';

/** Certificate and key from the files in the settings; undefined without. Throws `invalid_input`, naming the file. */
export async function readTlsFiles({
  tlsCert,
  tlsKey,
}: Pick<Config, 'tlsCert' | 'tlsKey'>): Promise<TlsFiles | undefined> {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  const cert = await readText(tlsCert, '--tls-cert');
  const key = await readText(tlsKey, '--tls-key');
  check({ cert }, `the file "${tlsCert}" holds no certificate in PEM form`, '--tls-cert');
  check({ key }, `the file "${tlsKey}" holds no private key in PEM form, or one that needs a passphrase`, '--tls-key');
  check({ cert, key }, `the key in "${tlsKey}" is not that of the certificate in "${tlsCert}"`, '--tls-key');
  return { cert, key };
}

async function readText(file: string, setting: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${code ?? 'unknown error'})`;
    throw new ApiError('invalid_input', `Cannot use TLS: ${setting} is "${file}", but ${why}.`);
  }
}

function check(files: Partial<TlsFiles>, why: string, setting: string): void {
  try {
    createSecureContext(files);
  } catch {
    throw new ApiError('invalid_input', `Cannot use TLS: ${why}. Give another file as ${setting}.`);
  }
}
