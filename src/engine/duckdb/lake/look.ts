import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiError } from '../../../contract/errors.ts';
import { createCatalogClient } from './catalog-client.ts';
import { lookAtFiles } from './lake-database.ts';
import { lakeError } from './lake-errors.ts';
import { CATALOG_SCHEMA, type LakeOptions, lakeCatalogOf, lakeDataOf } from './lake-options.ts';

/** What a node may do in the catalog's PostgreSQL. */
export interface CatalogLook {
  /** Without secrets. */
  shown: string;
  /** Version of PostgreSQL, such as `15.18`. */
  version: string;
  user: string;
  /** Whether there is a lake already. */
  isMade: boolean;
  /** Rights of the user that no node needs, as PostgreSQL names them. */
  excess: string[];
  isEncrypted: boolean;
  /** Whether PostgreSQL is on this machine. */
  isHere: boolean;
}

const LOOK = `SELECT current_setting('server_version') AS version, current_user AS name,
    to_regclass('${CATALOG_SCHEMA}.ducklake_metadata') IS NOT NULL AS made,
    rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls,
    coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS encrypted
  FROM pg_roles WHERE rolname = current_user`;
const RIGHTS: Readonly<Record<string, string>> = {
  rolsuper: 'SUPERUSER',
  rolcreaterole: 'CREATEROLE',
  rolcreatedb: 'CREATEDB',
  rolreplication: 'REPLICATION',
  rolbypassrls: 'BYPASSRLS',
};
const HERE = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/;

/** Looks at a lake's catalog, and changes nothing. Rejects as `openLake` does. */
export async function lookAtCatalog(lake: LakeOptions): Promise<CatalogLook> {
  const catalog = lakeCatalogOf(lake.catalog);
  const client = createCatalogClient(catalog.client);
  try {
    const [row = {}] = await client.query(LOOK);
    return {
      shown: catalog.shown,
      version: String(row['version']).split(' ')[0] ?? '',
      user: String(row['name']),
      isMade: row['made'] === true,
      excess: Object.keys(RIGHTS).flatMap((key) => (row[key] === true ? [RIGHTS[key] ?? key] : [])),
      isEncrypted: row['encrypted'] === true,
      isHere: HERE.test(new URL(lake.catalog).hostname),
    };
  } catch (error) {
    throw lakeError("look at the lake's catalog", { catalog, data: lake.data }, error);
  } finally {
    await client.close();
  }
}

/** Loads the engine's extensions and lists the lake's files; resolves to how many there are. Rejects as `openLake` does. */
export async function lookAtStore(lake: LakeOptions): Promise<number> {
  const catalog = lakeCatalogOf(lake.catalog);
  const data = lakeDataOf(lake.data);
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-doctor-'));
  try {
    const { extensionFolder, objectStore } = lake;
    return await lookAtFiles({ data, extensionFolder, objectStore, folder });
  } catch (error) {
    throw error instanceof ApiError ? error : lakeError("look at the lake's files", { catalog, data }, error);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
