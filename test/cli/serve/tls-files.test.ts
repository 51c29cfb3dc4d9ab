import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readTlsFiles } from '../../../src/cli/serve/tls-files.ts';

const FILES = join(import.meta.dirname, '../tls');
const cert = join(FILES, 'localhost.cert.pem');
const key = join(FILES, 'localhost.key.pem');

describe('readTlsFiles()', () => {
  it('reads a certificate and its key', async () => {
    const files = await readTlsFiles({ tlsCert: cert, tlsKey: key });
    expect(files?.cert).toContain('BEGIN CERTIFICATE');
    expect(files?.key).toContain('PRIVATE KEY');
  });

  it('is not needed', async () => {
    expect(await readTlsFiles({ tlsCert: undefined, tlsKey: undefined })).toBeUndefined();
  });

  it.each([
    ['a file that is not there', { tlsCert: '/none.pem', tlsKey: key }, /--tls-cert is "\/none.pem", but there is no/],
    ['a folder', { tlsCert: cert, tlsKey: FILES }, /--tls-key is ".*", but it cannot be read \(EISDIR\)/],
    ['a key for a certificate', { tlsCert: key, tlsKey: key }, /localhost.key.pem" holds no certificate/],
    ['a certificate for a key', { tlsCert: cert, tlsKey: cert }, /localhost.cert.pem" holds no private key/],
    ['the key of another', { tlsCert: cert, tlsKey: join(FILES, 'other.key.pem') }, /other.key.pem" is not that of/],
  ])('refuses %s', async (_, files, why) => {
    const error = await readTlsFiles(files).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'invalid_input', message: expect.stringMatching(why) });
    expect((error as Error).message).not.toContain('BEGIN');
  });
});
