import type { JsonObject } from '../../contract/json/json.ts';

/** An earthquake as USGS publishes it (GeoJSON), with our `_id` and `_event_time`; only fields that the demo reads. */
export interface Earthquake {
  _event_time: string;
  properties: { mag: number; place: string; net: string; felt: number | null };
  /** Longitude, latitude, depth in km. */
  geometry: { coordinates: [number, number, number] };
}

type Rows = readonly (readonly unknown[])[];
export type Content = Readonly<Record<string, unknown>>;

/** One exchange: what a person asks, the assistant's call for it, and what the answer must be. */
export interface Step {
  question: string;
  tool: string;
  arguments: JsonObject;
  /** The rows of an answer that does not have any itself. */
  rows?(content: Content): Rows;
  /** Rows, computed from the raw records without the service; or a text that an error has to contain. */
  expected: string | ((quakes: readonly Earthquake[]) => Rows);
  /** What the server has to ask the human, who types this text, or declines without one. */
  human?: { isAsked: string; types?: string };
}

const dayOf = ({ _event_time: time }: Earthquake) => time.slice(0, 10);
const shaken = (quakes: readonly Earthquake[]) => quakes.map(({ properties }) => properties);
const strongest = (quakes: readonly Earthquake[]) =>
  shaken(quakes).reduce((one, other) => (other.mag > one.mag ? other : one));

function asked(question: string, query: string, expected: Step['expected'], network?: string): Step {
  const given: JsonObject = network === undefined ? {} : { parameters: [{ name: 'network', value: network }] };
  return { question, tool: 'run_query', arguments: { query, ...given }, expected };
}

const LAMBDA = { workspace: 'demo', lambda: 'felt' };
const COLLECTIONS = {
  tool: 'list_collections',
  arguments: {},
  rows: ({ items }: Content) =>
    (items as { name: string; stats: { doc_count: number } }[]).map(({ name, stats }) => [name, stats.doc_count]),
  expected: (quakes: readonly Earthquake[]) => [['earthquakes', quakes.length]],
};

/** The exchanges of the demo, in order. */
export const STORY: readonly Step[] = [
  { question: 'What data is there?', ...COLLECTIONS },
  asked(
    'Show me each day: how many, and where was the strongest?',
    `SELECT CAST(_event_time AS DATE) AS day, count(*) AS quakes, max(properties.mag) AS strongest,
       arg_max(properties.place, properties.mag) AS place
FROM demo.earthquakes GROUP BY day ORDER BY day`,
    (quakes) =>
      [...new Set(quakes.map(dayOf))].sort().map((day) => {
        const ofDay = quakes.filter((quake) => dayOf(quake) === day);
        return [day, ofDay.length, strongest(ofDay).mag, strongest(ofDay).place];
      }),
  ),
  asked(
    'Are those deeper than 300 km stronger than the others? (The depth is the third coordinate.)',
    `SELECT count(*) AS quakes, round(avg(properties.mag), 2) AS mean_mag
FROM demo.earthquakes GROUP BY geometry.coordinates[3] > 300 ORDER BY quakes`,
    (quakes) =>
      [true, false].map((isDeep) => {
        const mags = shaken(quakes.filter(({ geometry }) => geometry.coordinates[2] > 300 === isDeep));
        return [mags.length, Math.round((100 * mags.reduce((sum, { mag }) => sum + mag, 0)) / mags.length) / 100];
      }),
  ),
  asked(
    "What was the strongest in the Alaskan network? (The assistant guesses a field's name.)",
    'SELECT max(properties.magnitude) AS strongest\nFROM demo.earthquakes WHERE properties.net = :network',
    'properties has mag',
    'ak',
  ),
  asked(
    'The error names the fields that exist, so the second try is right:',
    'SELECT max(properties.mag) AS strongest\nFROM demo.earthquakes WHERE properties.net = :network',
    (quakes) => [[strongest(quakes.filter(({ properties }) => properties.net === 'ak')).mag]],
    'ak',
  ),
  asked(
    "A document told the assistant to read this machine's files. Can it?",
    "SELECT * FROM read_text('/etc/passwd')",
    '"read_text"',
  ),
  {
    question: 'Store a query for my dashboard: what was felt by at least so many people?',
    tool: 'create_lambda',
    arguments: {
      workspace: 'demo',
      lambda: 'felt',
      sql: {
        query: `SELECT properties.place AS place, properties.mag AS mag, properties.felt AS reports
FROM demo.earthquakes WHERE properties.felt >= :people ORDER BY reports DESC`,
        default_parameters: [{ name: 'people', value: 200 }],
      },
    },
    rows: ({ name, state }) => [[name, state]],
    expected: () => [['felt', 'ACTIVE']],
  },
  {
    question: 'Run it for 300 people.',
    tool: 'execute_lambda_tag',
    arguments: { ...LAMBDA, tag: 'latest', parameters: [{ name: 'people', value: 300 }] },
    expected: (quakes) => {
      const felt = shaken(quakes).filter((quake) => (quake.felt ?? 0) >= 300);
      return felt.sort((a, b) => Number(b.felt) - Number(a.felt)).map((quake) => [quake.place, quake.mag, quake.felt]);
    },
  },
  {
    question: 'Delete that query. (The server asks the human, who agrees by typing its name.)',
    tool: 'delete_lambda',
    arguments: LAMBDA,
    rows: ({ name }) => [[name]],
    expected: () => [['felt']],
    human: { isAsked: '"felt"', types: 'felt' },
  },
  {
    question: 'And the earthquakes. (The human declines.)',
    tool: 'delete_collection',
    arguments: { workspace: 'demo', collection: 'earthquakes' },
    expected: 'declined',
    human: { isAsked: '1,707 documents' },
  },
  { question: 'Are they still there?', ...COLLECTIONS },
];
