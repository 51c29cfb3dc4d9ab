import type { Data } from '../../evals/data/files.ts';
import type { Airport, Country } from '../../evals/data/packages.ts';
import { REVIEWS, SURVEY } from '../../evals/data/planted.ts';

function country(common: string, cca2: string, cca3: string, more: Partial<Country>): Country {
  const base = { independent: true, unMember: true, region: 'Europe', landlocked: false, area: 1, borders: [] };
  return {
    name: { common, official: `Republic of ${common}` },
    cca2,
    cca3,
    ...base,
    languages: {},
    currencies: {},
    ...more,
  };
}

function airport(iata: string, iso: string, lat: string | undefined, size: string | null): Airport {
  const place = lat === undefined ? {} : { lat, lon: '1.5' };
  return {
    iata,
    iso,
    name: iata === 'XXX' ? null : `${iata} Airport`,
    continent: 'EU',
    type: 'airport',
    size,
    ...place,
  };
}

/** A world small enough to know every answer. */
export const SMALL: Data = {
  countries: [
    country('Belgium', 'BE', 'BEL', {
      borders: ['DEU', 'FRA'],
      area: 30_000,
      languages: { fra: 'French', nld: 'Dutch' },
    }),
    country('France', 'FR', 'FRA', { borders: ['BEL', 'DEU', 'CHE'], area: 550_000, languages: { fra: 'French' } }),
    country('Switzerland', 'CH', 'CHE', {
      borders: ['DEU', 'FRA'],
      landlocked: true,
      area: 41_000,
      languages: { fra: 'French', gsw: 'Swiss German', ita: 'Italian' },
    }),
    country('Canada', 'CA', 'CAN', {
      region: 'Americas',
      area: 9_900_000,
      languages: { eng: 'English', fra: 'French' },
      currencies: { CAD: { name: 'Canadian dollar', symbol: '$' } },
    }),
    country('Palau', 'PW', 'PLW', {
      region: 'Oceania',
      unMember: false,
      area: 459,
      languages: { eng: 'English', gsw: 'Swiss German' },
      currencies: { USD: { name: 'United States Dollar', symbol: '$' } },
    }),
  ],
  airports: [
    airport('CDG', 'FR', '49.01', 'large'),
    airport('NCE', 'FR', '43.66', 'medium'),
    airport('YVR', 'CA', '9.19', 'large'),
    airport('ROR', 'PW', '-7.36', 'small'),
    airport('XXX', 'CA', undefined, null),
  ],
  releases: [
    ['safari', 'desktop', '1', '2003-06-23'],
    ['safari', 'desktop', '2', '2003-07-03'],
    ['safari', 'desktop', '4', ''],
    ['safari', 'desktop', '3', '2023-01-01'],
    ['deno', 'server', '1, "x"', '2023-12-31'],
  ].map(([browser = '', type = '', version = '', release_date = '']) => {
    return { browser, name: browser, type, version, release_date, status: 'retired', engine: '', engine_version: '' };
  }),
  properties: [
    { property: 'a', support: { firefox: { version_added: '9' }, safari: { version_added: false } } },
    {
      property: 'b',
      support: { firefox: [{ version_added: '10' }, { version_added: false }], safari: [{ version_added: false }] },
    },
    { property: 'c', support: { firefox: { version_added: 'preview' }, safari: { version_added: false } } },
    { property: 'd', support: { firefox: { version_added: '1' }, safari: { version_added: '1' } } },
  ],
  features: [
    ['css-grid', 96.5, { firefox: { '9': 'n', '52': 'y', '100': 'y' }, safari: { '15.4': 'y #1' } }],
    ['b', 20, { safari: { '15.4': 'a' } }],
    ['c', 95, { safari: { '15.4': 'n y' } }],
  ].map(([id, usage_perc_y, stats]) => {
    const rest = { usage_perc_y: Number(usage_perc_y), stats: stats as Record<string, Record<string, string>> };
    return { id: String(id), title: String(id), status: 'rec', categories: ['CSS'], ...rest };
  }),
  reviews: REVIEWS,
  survey: SURVEY,
};
