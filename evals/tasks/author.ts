import type { Client } from '../../src/http/client.ts';
import { answerOf, ifThere, lambda, WORLD, workspace } from './state.ts';
import type { Task } from './task.ts';

const DESK = 'desk';
const at = (queryLambda: string, tag = 'latest') => ({ workspace: DESK, queryLambda, tag });

/** The version that a tag names; undefined if there is no such tag. */
async function tagged(client: Client, queryLambda: string, tag: string): Promise<string | undefined> {
  const found = await ifThere(client.getLambdaTag(at(queryLambda, tag)));
  return found?.version?.version ?? undefined;
}

/** The versions of a lambda, oldest first. */
async function versions(client: Client, queryLambda: string): Promise<string[]> {
  const listed = (await ifThere(client.listLambdaVersions({ workspace: DESK, queryLambda }))) ?? [];
  return listed.map(({ version }) => String(version)).reverse();
}

const first = (rows: Record<string, unknown>[]) => Object.values(rows[0] ?? {})[0];
const airportsOfSize = (order: string) =>
  `SELECT iata FROM ${WORLD}.airports WHERE size = 'large' ORDER BY iata ${order} LIMIT 5`;
const RELEASES = `${WORLD}.releases`;

const tasks: readonly Omit<Task, 'kind'>[] = [
  {
    id: 'store-parameter',
    question:
      `Store a query lambda named large_airports in the workspace ${DESK}: the IATA codes (iata) of the airports of ` +
      'size "large" in a country, in order. The country (two letters, as in iso) is the parameter country; without it, FR.',
    form: 'the number of rows for JP',
    sets: ['airports'],
    truth: ({ airports }) => ({ number: airports.filter((one) => one.iso === 'JP' && one.size === 'large').length }),
    prepare: (client) => workspace(client, DESK),
    async check(client) {
      const [byDefault, italian] = [
        await answerOf(client, at('large_airports')),
        await answerOf(client, at('large_airports'), { country: 'IT' }),
      ];
      if (typeof byDefault === 'string' || typeof italian === 'string') return String(byDefault);
      const codes = (rows: Record<string, unknown>[]) => rows.map(({ iata }) => iata);
      if (!codes(byDefault).includes('CDG')) return 'without a parameter it does not have CDG';
      return codes(italian).includes('FCO') && !codes(italian).includes('CDG')
        ? undefined
        : 'it does not find FCO for IT';
    },
  },
  {
    id: 'test-before',
    question:
      `Write a query that counts the airports of a continent (parameter continent) and a size (parameter size). Test it ` +
      `with EU and large, then store it as the lambda airport_count in ${DESK}; the only column is airports.`,
    form: 'the number for EU and large',
    sets: ['airports'],
    truth: ({ airports }) => ({
      number: airports.filter((one) => one.continent === 'EU' && one.size === 'large').length,
    }),
    prepare: (client) => workspace(client, DESK),
    async check(client) {
      const rows = await answerOf(client, at('airport_count'), { continent: 'AS', size: 'medium' });
      if (typeof rows === 'string') return rows;
      return Number(rows[0]?.['airports']) > 0 ? undefined : 'it counts nothing for AS and medium';
    },
  },
  {
    id: 'tag-first',
    question: `The lambda ${DESK}.first_codes has two versions. Tag the older one "production".`,
    form: 'the version (its hash)',
    sets: ['airports'],
    prepare: async (client) => {
      const [asc, desc] = [airportsOfSize('ASC'), airportsOfSize('DESC')];
      await lambda(client, { workspace: DESK, name: 'first_codes' }, [{ query: asc }, { query: desc }]);
    },
    async check(client, said) {
      const [older] = await versions(client, 'first_codes');
      if ((await tagged(client, 'first_codes', 'production')) !== older)
        return 'production is not at the older version';
      return JSON.stringify(said).includes(String(older)) ? undefined : 'another version was named';
    },
  },
  {
    id: 'new-version',
    question:
      `The lambda ${DESK}.widest returns the five largest countries. Make a new version in which callers may say how ` +
      'many (parameter n); who says nothing still gets five.',
    form: 'the names that it returns for n = 3',
    sets: ['countries'],
    truth: ({ countries }) => ({
      names: countries
        .toSorted((a, b) => b.area - a.area)
        .slice(0, 3)
        .map(({ name }) => name.common),
    }),
    prepare: async (client) => {
      const query = `SELECT name.common AS country, area FROM ${WORLD}.countries ORDER BY area DESC LIMIT 5`;
      await lambda(client, { workspace: DESK, name: 'widest' }, [{ query }]);
    },
    async check(client) {
      if ((await versions(client, 'widest')).length < 2) return 'there is no new version';
      const [all, two] = [await answerOf(client, at('widest')), await answerOf(client, at('widest'), { n: 2 })];
      if (typeof all === 'string' || typeof two === 'string') return String(typeof all === 'string' ? all : two);
      return all.length === 5 && two.length === 2
        ? undefined
        : `${all.length} rows by default, ${two.length} for n = 2`;
    },
  },
  {
    id: 'what-changed',
    question:
      `The lambda ${DESK}.releases_of got a second version, and its callers fail. Compare the two: which parameter do ` +
      'callers have to give now that was optional before, and which column of the result is gone?',
    form: 'an object: parameter, column',
    sets: ['releases'],
    prepare: async (client) => {
      const where = 'WHERE browser = :browser ORDER BY release_date DESC LIMIT 10';
      await lambda(client, { workspace: DESK, name: 'releases_of' }, [
        {
          query: `SELECT version, release_date, engine FROM ${RELEASES} ${where}`,
          default_parameters: [{ name: 'browser', type: 'string', value: 'firefox' }],
        },
        { query: `SELECT version, release_date FROM ${RELEASES} ${where}` },
      ]);
    },
    async check(_client, said) {
      const text = JSON.stringify(said);
      return /browser/.test(text) && /engine/.test(text) ? undefined : 'not browser and engine';
    },
  },
  {
    id: 'execute-tag',
    question: `What does the version of the lambda ${DESK}.country_airports that is tagged "production" return for the country BR?`,
    form: 'a number',
    sets: ['airports'],
    truth: ({ airports }) => ({ number: airports.filter((one) => one.iso === 'BR' && one.type === 'airport').length }),
    prepare: async (client) => {
      const query = `SELECT count(*) AS airports FROM ${WORLD}.airports WHERE iso = :country`;
      const [older] = await lambda(client, { workspace: DESK, name: 'country_airports' }, [
        { query: `${query} AND type = 'airport'` },
        { query },
      ]);
      const place = { workspace: DESK, queryLambda: 'country_airports' };
      await client.tagLambdaVersion({ ...place, tag_name: 'production', version: String(older) });
    },
  },
  {
    id: 'roll-back',
    question:
      `Since its last version the lambda ${DESK}.region_size, which callers use by the tag "production", returns 0 for ` +
      'every region. Put production back to the version before.',
    form: 'what production now returns for the region Oceania',
    sets: ['countries'],
    truth: ({ countries }) => ({ number: countries.filter(({ region }) => region === 'Oceania').length }),
    prepare: async (client) => {
      const query = `SELECT count(*) AS countries FROM ${WORLD}.countries WHERE`;
      const [, broken] = await lambda(client, { workspace: DESK, name: 'region_size' }, [
        { query: `${query} region = :region` },
        { query: `${query} lower(region) = :region`, description: 'Regions in any letter case' },
      ]);
      const place = { workspace: DESK, queryLambda: 'region_size' };
      await client.tagLambdaVersion({ ...place, tag_name: 'production', version: String(broken) });
    },
    async check(client) {
      const rows = await answerOf(client, at('region_size', 'production'), { region: 'Asia' });
      if (typeof rows === 'string') return rows;
      const [older] = await versions(client, 'region_size');
      if ((await tagged(client, 'region_size', 'production')) !== older)
        return 'production is not at the version before';
      return Number(first(rows)) > 0 ? undefined : 'production still returns 0';
    },
  },
  {
    id: 'who-reads',
    question: 'Which query lambdas of all workspaces read the collection features of the workspace world?',
    form: 'a list of names',
    sets: ['features'],
    truth: () => ({ names: ['wide_features', 'feature_titles'] }),
    prepare: async (client) => {
      const query = (columns: string) => `SELECT ${columns} FROM ${WORLD}.features ORDER BY id`;
      await lambda(client, { workspace: DESK, name: 'wide_features' }, [{ query: `${query('id')} LIMIT 5` }]);
      await lambda(client, { workspace: 'press', name: 'feature_titles' }, [{ query: query('title') }]);
      await lambda(client, { workspace: 'press', name: 'features_of_airports' }, [{ query: airportsOfSize('ASC') }]);
    },
  },
];

export const AUTHOR: readonly Task[] = tasks.map((task) => ({ ...task, kind: 'author' }));
