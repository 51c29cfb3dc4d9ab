import { dirname, join } from 'node:path';
import pg from 'pg';
import type { OpenLakeOptions } from '../../src/engine/duckdb/open-lake.ts';

/** PostgreSQL, the files' place and the extensions, as `test/lake/servers.ts` started and installed them. */
const { LAKE_CATALOG, LAKE_DATA, LAKE_EXTENSIONS, LAKE_STORE } = process.env;

/** Whether the engine's tests are run on lakes. */
export const ON_LAKE = LAKE_CATALOG !== undefined;

let nodes = 0;

const made = new Map<string, Promise<string>>();

/** A lake of its own for each path that a test would have a database file at, the same whenever it is opened. */
export async function lakeFor(file: string): Promise<Pick<OpenLakeOptions, 'lake' | 'file'>> {
  const name = made.get(file) ?? makeDatabase();
  made.set(file, name);
  const catalog = new URL(LAKE_CATALOG ?? '');
  catalog.pathname = await name;
  return {
    // Each that opens it is a node of its own.
    file: join(dirname(file), `node${nodes++}`, 'node.duckdb'),
    lake: {
      catalog: catalog.href,
      data: `${LAKE_DATA}/${await name}`,
      extensionFolder: LAKE_EXTENSIONS,
      objectStore: LAKE_STORE === undefined ? undefined : async () => JSON.parse(LAKE_STORE),
    },
  };
}

/** Makes `other` stand for the lake of `file`. */
export function sameLake(file: string, other: string): void {
  const name = made.get(file);
  if (name !== undefined) made.set(other, name);
}

/** Runs a statement in the lake's PostgreSQL, as somebody who may do everything. */
export async function inCatalog(file: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: (await lakeFor(file)).lake.catalog });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function makeDatabase(): Promise<string> {
  const name = `lake_${process.pid}_${Date.now()}_${made.size}`;
  const client = new pg.Client({ connectionString: LAKE_CATALOG });
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  return name;
}
