import type { Data, Property } from '../data/files.ts';
import type { Country, Feature } from '../data/packages.ts';
import type { Task } from './task.ts';

const DAY_MS = 86_400_000;

export function countBy<Item>(items: readonly Item[], key: (item: Item) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[key(item)] = (counts[key(item)] ?? 0) + 1;
  return counts;
}

const byCount = (counts: Record<string, number>): string[] =>
  Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([name]) => name);

function most<Item>(items: readonly Item[], size: (item: Item) => number): Item {
  const [first] = items.toSorted((a, b) => size(b) - size(a));
  if (first === undefined) throw new Error('there is nothing to compare');
  return first;
}

/** Any of the names that people use for a country. */
const namesOf = ({ name, cca2, cca3 }: Country) => ({ text: [name.common, name.official, cca2, cca3] });

const currencies = ({ currencies: all }: Country) => Object.values(all).map(({ name }) => name);

function airportsIn({ airports }: Data): Record<string, number> {
  return countBy(airports, ({ iso }) => iso);
}

const supports = ({ stats }: Feature, browser: string, version: string) =>
  stats[browser]?.[version]?.startsWith('y') === true;

/** What a browser's first statement about a property says. */
function versionAdded({ support }: Property, browser: string): string | false | null | undefined {
  const said = support[browser];
  return (Array.isArray(said) ? said[0] : said)?.version_added;
}

const released = ({ releases }: Data) => releases.filter(({ release_date }) => release_date !== '');

const tasks: readonly Omit<Task, 'kind'>[] = [
  {
    id: 'landlocked',
    question: 'How many countries are independent and have no access to the sea?',
    form: 'a number',
    sets: ['countries'],
    truth: ({ countries }) => ({ number: countries.filter((one) => one.independent && one.landlocked).length }),
  },
  {
    id: 'members-by-region',
    question: 'How many member states of the United Nations does each region have? Only regions that have any.',
    form: 'an object: region to number',
    sets: ['countries'],
    truth: ({ countries }) => ({
      counts: countBy(
        countries.filter(({ unMember }) => unMember),
        ({ region }) => region,
      ),
    }),
  },
  {
    id: 'neighbours-most',
    question: 'Which country has the most neighbours by land?',
    form: "the country's common name",
    sets: ['countries'],
    truth: ({ countries }) => namesOf(most(countries, ({ borders }) => borders.length)),
  },
  {
    id: 'neighbours-of-two',
    question: 'Which countries have a land border with both Germany and France?',
    form: 'a list of common names',
    sets: ['countries'],
    truth: ({ countries }) => ({
      names: countries
        .filter(({ borders }) => borders.includes('DEU') && borders.includes('FRA'))
        .map(({ name }) => name.common),
    }),
  },
  {
    id: 'languages-top',
    question: 'Which three languages are languages of the most countries?',
    form: 'a list of English names of languages',
    sets: ['countries'],
    truth: ({ countries }) => ({
      names: byCount(
        countBy(
          countries.flatMap(({ languages }) => Object.values(languages)),
          (name) => name,
        ),
      ).slice(0, 3),
    }),
  },
  {
    id: 'dollars',
    question: 'In how many countries does the name of a currency contain "dollar", whatever the letter case?',
    form: 'a number',
    sets: ['countries'],
    truth: ({ countries }) => ({
      number: countries.filter((one) => currencies(one).some((name) => /dollar/i.test(name))).length,
    }),
  },
  {
    id: 'large-airports-most',
    question: 'Which country has the most airports of the size "large"?',
    form: "the country's common name",
    sets: ['countries', 'airports'],
    truth: ({ countries, airports }) => {
      const [iso] = byCount(
        countBy(
          airports.filter(({ size }) => size === 'large'),
          (one) => one.iso,
        ),
      );
      return namesOf(most(countries, ({ cca2 }) => (cca2 === iso ? 1 : 0)));
    },
  },
  {
    id: 'without-airport',
    question: 'How many of the countries have no record at all in the set of airports?',
    form: 'a number',
    sets: ['countries', 'airports'],
    truth: (data) => ({ number: data.countries.filter(({ cca2 }) => airportsIn(data)[cca2] === undefined).length }),
  },
  {
    id: 'airports-dense',
    question:
      'Of the countries with an area of more than 100,000 km², which has the most records in the set of airports for its area?',
    form: "the country's common name",
    sets: ['countries', 'airports'],
    truth: (data) => {
      const counts = airportsIn(data);
      const wide = data.countries.filter(({ area }) => area > 100_000);
      return namesOf(most(wide, ({ cca2, area }) => (counts[cca2] ?? 0) / area));
    },
  },
  {
    id: 'airports-south',
    question: 'How many airports lie south of the equator?',
    form: 'a number',
    sets: ['airports'],
    truth: ({ airports }) => ({ number: airports.filter(({ lat }) => Number(lat) < 0).length }),
  },
  {
    id: 'airport-northernmost',
    question: 'Which airport of the size "large" is the northernmost?',
    form: 'its IATA code',
    sets: ['airports'],
    truth: ({ airports }) => {
      const large = airports.filter(({ size, lat }) => size === 'large' && lat !== undefined);
      return { text: [most(large, ({ lat }) => Number(lat)).iata] };
    },
  },
  {
    id: 'airports-missing',
    question: 'How many records of the airports have no name, how many no latitude, and how many no size?',
    form: 'an object: name, latitude, size, each a number',
    sets: ['airports'],
    truth: ({ airports }) => {
      const without = (field: 'name' | 'lat' | 'size') =>
        airports.filter((one) => one[field] === undefined || one[field] === null || one[field] === '').length;
      return { counts: { name: without('name'), latitude: without('lat'), size: without('size') } };
    },
  },
  {
    id: 'features-share',
    question: 'What percentage of the web features is fully supported (usage_perc_y) for more than 95 % of all users?',
    form: 'a percentage with one decimal',
    sets: ['features'],
    truth: ({ features }) => {
      const wide = features.filter((one) => one.usage_perc_y > 95);
      return { number: (100 * wide.length) / features.length, within: 0.06 };
    },
  },
  {
    id: 'features-safari',
    question: 'How many web features does Safari 15.4 support fully, that is, its entry in the stats begins with "y"?',
    form: 'a number',
    sets: ['features'],
    truth: ({ features }) => ({ number: features.filter((one) => supports(one, 'safari', '15.4')).length }),
  },
  {
    id: 'feature-first-version',
    question: 'Which is the earliest version of Firefox that supports CSS Grid Layout (level 1; id css-grid) fully?',
    form: 'the version, as text',
    sets: ['features'],
    truth: ({ features }) => {
      const versions = features
        .filter(({ id }) => id === 'css-grid')
        .flatMap(({ stats }) => Object.entries(stats['firefox'] ?? {}));
      const full = versions.filter(([, said]) => said.startsWith('y')).map(([version]) => version);
      return { text: [most(full, (version) => -Number(version))] };
    },
  },
  {
    id: 'releases-in-year',
    question: 'How many releases of each type of browser (desktop, mobile, …) came out in 2023?',
    form: 'an object: type to number',
    sets: ['releases'],
    truth: (data) => ({
      counts: countBy(
        released(data).filter(({ release_date }) => release_date.startsWith('2023')),
        ({ type }) => type,
      ),
    }),
  },
  {
    id: 'release-gap',
    question:
      'What is the longest time between a release of the browser safari (desktop) and the one after it, in days?',
    form: 'a number of days',
    sets: ['releases'],
    truth: (data) => {
      const days = released(data)
        .filter(({ browser }) => browser === 'safari')
        .map(({ release_date }) => Date.parse(release_date) / DAY_MS)
        .sort((a, b) => a - b);
      return { number: Math.max(...days.slice(1).map((day, index) => day - (days[index] ?? day))) };
    },
  },
  {
    id: 'properties-apart',
    question:
      'How many CSS properties have a version of Firefox in which they were added, while version_added of Safari is ' +
      'false? Where a browser has a list of statements, the first counts; "preview" is not a version.',
    form: 'a number',
    sets: ['properties'],
    truth: ({ properties }) => ({
      number: properties.filter((one) => {
        const firefox = versionAdded(one, 'firefox');
        return typeof firefox === 'string' && firefox !== 'preview' && versionAdded(one, 'safari') === false;
      }).length,
    }),
  },
];

export const EXPLORE: readonly Task[] = tasks.map((task) => ({ ...task, kind: 'explore' }));
