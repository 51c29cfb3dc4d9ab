import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Airport, Country, Feature, Raw } from './packages.ts';
import { REVIEWS, type Review, SURVEY } from './planted.ts';

/** One row of `releases.csv`; empty: unknown. */
export interface Release {
  browser: string;
  name: string;
  type: string;
  version: string;
  release_date: string;
  status: string;
  engine: string;
  engine_version: string;
}

/** The sets that the questions are about, as the files have them. */
export interface Data {
  countries: Country[];
  airports: Airport[];
  releases: Release[];
  properties: Property[];
  features: (Feature & { id: string })[];
  reviews: readonly Review[];
  survey: readonly Record<string, unknown>[];
}

export interface Property {
  property: string;
  status?: { deprecated: boolean };
  support: Record<string, { version_added: string | false | null } | { version_added: string | false | null }[]>;
}

export const SETS = ['countries', 'airports', 'releases', 'properties', 'features', 'reviews', 'survey'] as const;
export type SetName = (typeof SETS)[number];

export function fileOf(set: SetName): string {
  return set === 'releases' ? 'releases.csv' : `${set}.jsonl`;
}

/** The packages' contents, one record a line. */
export function dataOf({ countries, airports, compat, caniuse }: Raw): Data {
  const releases = Object.entries(compat.browsers).flatMap(([browser, { name, type, releases: all }]) =>
    Object.entries(all).map(([version, release]) => ({
      browser,
      name,
      type,
      version,
      release_date: release.release_date ?? '',
      status: release.status,
      engine: release.engine ?? '',
      engine_version: release.engine_version ?? '',
    })),
  );
  const properties = Object.entries(compat.css.properties).flatMap(([property, { __compat }]) =>
    __compat === undefined ? [] : [{ property, ...__compat }],
  );
  const features = Object.entries(caniuse.data).map(([id, feature]) => ({ id, ...feature }));
  return { countries, airports, releases, properties, features, reviews: REVIEWS, survey: SURVEY };
}

/** Writes each set as a file: JSON lines, and CSV for the releases. */
export async function writeFiles(data: Data, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const set of SETS) {
    const records: readonly object[] = data[set];
    const lines = set === 'releases' ? csvLines(data.releases) : records.map((record) => `${JSON.stringify(record)}\n`);
    await writeFile(join(folder, fileOf(set)), lines.join(''));
  }
}

function csvLines(rows: readonly Release[]): string[] {
  const cell = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const line = (cells: readonly string[]) => `${cells.map(cell).join(',')}\n`;
  const columns = Object.keys(rows[0] ?? {}) as (keyof Release)[];
  return [line(columns), ...rows.map((row) => line(columns.map((column) => row[column])))];
}
