import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { OWNER, startPostgres } from '../sources/servers/postgres.ts';
import { startVersitygw } from '../sources/servers/s3.ts';
import { command, installed } from '../sources/servers/server.ts';

/** The engine's version, whose extensions fit no other. */
const VERSION = '1.5.5';
const EXTENSIONS = ['ducklake', 'httpfs', 'postgres-scanner'];

/** The engine's extensions, from Python's registry: signed files, as its own repository has them. */
export function installedExtensions(): Promise<string> {
  return installed(`duckdb-extensions-${VERSION}`, async (folder) => {
    for (const name of EXTENSIONS) {
      const wheel = join(folder, name);
      await mkdir(wheel);
      await command('pip', ['download', '-q', '--no-deps', '-d', wheel, `duckdb-extension-${name}==${VERSION}`]);
      const [file = ''] = await readdir(wheel);
      const unpacked = join(wheel, 'unpacked');
      await command('python3', ['-m', 'zipfile', '-e', join(wheel, file), unpacked]);
      const inner = `duckdb_extension_${name.replaceAll('-', '_')}/extensions/v${VERSION}`;
      const extension = `${name.replaceAll('-', '_')}.duckdb_extension`;
      await rename(join(unpacked, inner, extension), join(folder, extension));
    }
  });
}

/** Starts what the lakes of the tests are on, before all of them: PostgreSQL, and an object store with a bucket. */
export default async function setup(): Promise<() => Promise<void>> {
  const [extensions, postgres, store] = await Promise.all([installedExtensions(), startPostgres(), startVersitygw()]);
  const bucket = await store.createBucket();
  const { cloud_access_key: key, endpoint } = bucket.connection() as {
    cloud_access_key: Record<string, string>;
    endpoint: string;
  };
  Object.assign(process.env, {
    LAKE_CATALOG: `postgres://${OWNER.username}:${OWNER.password}@127.0.0.1:${postgres.port}/postgres`,
    LAKE_DATA: `s3://${bucket.name}`,
    LAKE_EXTENSIONS: extensions,
    LAKE_STORE: JSON.stringify({
      keyId: key['cloud_access_key_id'],
      secret: key['cloud_secret_access_key'],
      endpoint,
    }),
  });
  return async () => {
    await postgres.close();
    await store.close();
  };
}
