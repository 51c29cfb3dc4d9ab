import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Where the data come from, pinned, so that the truths of two runs are the same. */
const PACKAGES = {
  'world-countries': '5.1.0',
  airports: '1.0.0',
  'caniuse-db': '1.0.30001813',
  '@mdn/browser-compat-data': '8.1.9',
} as const;

const FETCH_MAX_MS = 300_000;

/** What the packages hold, as it is in them. */
export interface Raw {
  countries: Country[];
  airports: Airport[];
  compat: { browsers: Record<string, Browser>; css: { properties: Record<string, { __compat?: Compat }> } };
  caniuse: { data: Record<string, Feature> };
}

export interface Country {
  name: { common: string; official: string };
  cca2: string;
  cca3: string;
  independent: boolean | null;
  unMember: boolean;
  region: string;
  landlocked: boolean;
  area: number;
  borders: string[];
  languages: Record<string, string>;
  currencies: Record<string, { name: string; symbol: string }> | [];
}

/** Coordinates are text. */
export interface Airport {
  iata: string;
  iso: string;
  name: string | null;
  continent: string;
  type: string;
  size: string | null;
  lat?: string;
  lon?: string;
}

interface Browser {
  name: string;
  type: string;
  releases: Record<string, { release_date?: string; status: string; engine?: string; engine_version?: string }>;
}

interface Compat {
  spec_url?: string | string[];
  status?: { deprecated: boolean; experimental: boolean; standard_track: boolean };
  support: Record<string, Support | Support[]>;
}

interface Support {
  version_added: string | false | null;
}

export interface Feature {
  title: string;
  status: string;
  categories: string[];
  usage_perc_y: number;
  /** Browser, version, and how much of it: `y`, `n`, `a #1`, … */
  stats: Record<string, Record<string, string>>;
}

/** The folder of what is downloaded, once for all checkouts. */
export function cacheFolder(): string {
  const cacheHome = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  return process.env['EVALS_CACHE'] ?? join(cacheHome, 'colloquy-evals');
}

/** Installs what is missing, without running anything of it, and reads it. */
export async function fetchRaw(folder: string): Promise<Raw> {
  const home = (name: string) => join(folder, 'node_modules', name);
  const isThere = async ([name, version]: [string, string]) => {
    const file = join(home(name), 'package.json');
    return existsSync(file) && JSON.parse(await readFile(file, 'utf8')).version === version;
  };
  const packages = Object.entries(PACKAGES);
  if (!(await Promise.all(packages.map(isThere))).every(Boolean)) {
    await mkdir(folder, { recursive: true });
    const wanted = packages.map(([name, version]) => `${name}@${version}`);
    const args = ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', ...wanted];
    await promisify(execFile)('npm', args, { timeout: FETCH_MAX_MS, shell: process.platform === 'win32' });
  }
  const read = async (name: string, file: string) => JSON.parse(await readFile(join(home(name), file), 'utf8'));
  return {
    countries: await read('world-countries', 'countries.json'),
    airports: await read('airports', 'airports.json'),
    compat: await read('@mdn/browser-compat-data', 'data.json'),
    caniuse: await read('caniuse-db', 'data.json'),
  };
}
