import type { JsonObject } from '../../contract/json/json.ts';
import {
  type AnswerReader,
  collectionsTable,
  deletedTable,
  fieldsTable,
  queryTable,
  workspacesTable,
} from './answers.ts';
import type { Expected } from './check.ts';
import type { DemoData } from './data.ts';
import * as expected from './expected.ts';
import type { HumanAnswer } from './session.ts';

/** One exchange: what a person asks, the assistant's call for it, and what the answer must be. */
export interface Step {
  question: string;
  tool: string;
  arguments: JsonObject;
  /** Turns the answer's structured content into a table. */
  reads: AnswerReader;
  /** Computed from the raw records in JavaScript, without the service. */
  expected: (data: DemoData) => Expected;
  /** The human's answer if the server asks, and what its question has to mention. */
  human?: HumanAnswer & { whenAsked: RegExp };
}

/** A question answered by one statement; `sql` is laid out for reading. */
function asked(
  question: string,
  sql: readonly string[],
  expectation: Step['expected'],
  parameters?: Record<string, string | number>,
): Step {
  const query: JsonObject = { query: sql.join('\n') };
  if (parameters !== undefined) {
    query['parameters'] = Object.entries(parameters).map(([name, value]) => ({ name, value }));
  }
  return { question, tool: 'run_query', arguments: query, reads: queryTable, expected: expectation };
}

const lookingAround: Step[] = [
  {
    question: 'Which workspaces are there?',
    tool: 'list_workspaces',
    arguments: {},
    reads: workspacesTable,
    expected: expected.workspaces,
  },
  {
    question: 'And what data is in them?',
    tool: 'list_collections',
    arguments: {},
    reads: collectionsTable,
    expected: expected.collections,
  },
  {
    question: 'What does an earthquake look like?',
    tool: 'describe_collection',
    arguments: { workspace: 'demo', collection: 'earthquakes', sample: expected.SAMPLE },
    reads: fieldsTable(expected.EARTHQUAKE_PATHS),
    expected: expected.earthquakeFields,
  },
];

const earthquakes: Step[] = [
  asked(
    'How many earthquakes were there in that week, and how strong was the strongest?',
    [
      'SELECT count(*) AS quakes, max(properties.mag) AS strongest,',
      '       min(_event_time) AS first, max(_event_time) AS last',
      'FROM demo.earthquakes',
    ],
    expected.strongest,
  ),
  asked(
    'Show me each day: how many, and where was the strongest?',
    [
      'SELECT CAST(_event_time AS DATE) AS day, count(*) AS quakes, max(properties.mag) AS strongest,',
      '       arg_max(properties.place, properties.mag) AS place',
      'FROM demo.earthquakes GROUP BY day ORDER BY day',
    ],
    expected.days,
  ),
  asked(
    'Are deep earthquakes stronger? (The depth is the third coordinate.)',
    [
      "SELECT CASE WHEN geometry.coordinates[3] < 70 THEN 'shallow, under 70 km'",
      "            WHEN geometry.coordinates[3] < 300 THEN 'intermediate'",
      "            ELSE 'deep, over 300 km' END AS depth,",
      '       count(*) AS quakes, round(avg(properties.mag), 2) AS mean_mag',
      'FROM demo.earthquakes GROUP BY depth ORDER BY mean_mag',
    ],
    expected.depths,
  ),
  asked(
    'For how many do we not know whether anybody felt them?',
    [
      'SELECT count(*) AS quakes, count(properties.felt) AS felt_known,',
      '       round(100.0 * count(*) FILTER (properties.felt IS NULL) / count(*), 1) AS percent_null',
      'FROM demo.earthquakes',
    ],
    expected.feltKnown,
  ),
  asked(
    'Which ones were felt by at least 200 people?',
    [
      'SELECT properties.place AS place, properties.mag AS mag, properties.felt AS reports',
      'FROM demo.earthquakes WHERE properties.felt >= :people ORDER BY reports DESC',
    ],
    (data) => expected.feltBy(data, 200),
    { people: 200 },
  ),
];

const birdStrikes: Step[] = [
  asked(
    'Now the bird strikes: which species are the costliest?',
    [
      'SELECT "Wildlife Species" AS species, count(*) AS strikes, sum("Cost Total $") AS dollars',
      'FROM demo.birdstrikes GROUP BY species ORDER BY dollars DESC LIMIT 5',
    ],
    expected.costliestSpecies,
  ),
  {
    question: 'Are the speeds usable?',
    tool: 'describe_collection',
    arguments: { workspace: 'demo', collection: 'birdstrikes', sample: expected.SAMPLE },
    reads: fieldsTable(expected.STRIKE_PATHS),
    expected: expected.strikeFields,
  },
  asked(
    'Numbers in some, text in others. So take those that are numbers: how fast were they?',
    [
      'SELECT phase, count(*) AS strikes, count(knots) AS with_speed, median(knots) AS median_knots',
      `FROM (SELECT "Phase of flight" AS phase, TRY_CAST("Speed IAS in knots"->>'$' AS DOUBLE) AS knots`,
      '      FROM demo.birdstrikes)',
      'GROUP BY phase ORDER BY strikes DESC LIMIT 5',
    ],
    expected.speeds,
  ),
  asked(
    'Which states report the most strikes, and what are their capitals?',
    [
      'SELECT b."Origin State" AS state, c.city AS capital, count(*) AS strikes',
      'FROM demo.birdstrikes b LEFT JOIN demo.capitals c ON c.state = b."Origin State"',
      'GROUP BY ALL ORDER BY strikes DESC LIMIT 8',
    ],
    expected.states,
  ),
];

const mistakes: Step[] = [
  asked(
    "What was the strongest in the Alaskan network? (The assistant guesses a field's name.)",
    ['SELECT max(properties.magnitude) AS strongest', 'FROM demo.earthquakes WHERE properties.net = :network'],
    () => ({ isError: true, says: [/magnitude/, /"mag"/] }),
    { network: 'ak' },
  ),
  asked(
    'The error names the fields that exist, so the second try is right:',
    [
      'SELECT properties.mag AS strongest, properties.place AS place',
      'FROM demo.earthquakes WHERE properties.net = :network',
      'ORDER BY strongest DESC LIMIT 1',
    ],
    (data) => expected.strongestIn(data, 'ak'),
    { network: 'ak' },
  ),
  asked(
    "A document told the assistant to read this machine's files. Can it?",
    ["SELECT * FROM read_text('/etc/passwd')"],
    () => ({ isError: true, says: [/read_text/] }),
  ),
];

const deletion = {
  tool: 'delete_collection',
  arguments: { workspace: 'demo', collection: 'birdstrikes' },
  reads: deletedTable,
};

const deleting: Step[] = [
  {
    ...deletion,
    question: 'Delete the bird strikes. (The server asks the human, who declines.)',
    human: { says: 'decline', whenAsked: /2,?500/ },
    expected: () => ({ isError: true, says: [/declined/i] }),
  },
  {
    ...deletion,
    question: 'Delete the bird strikes. (Asked again, the human accepts.)',
    human: { says: 'accept', types: 'birdstrikes', whenAsked: /2,?500/ },
    expected: () => expected.deleted('birdstrikes'),
  },
  {
    question: 'What is left?',
    tool: 'list_collections',
    arguments: {},
    reads: collectionsTable,
    expected: (data) => expected.collections(data, ['birdstrikes']),
  },
];

/** The exchanges of the demo, in order. */
export const STORY: readonly Step[] = [...lookingAround, ...earthquakes, ...birdStrikes, ...mistakes, ...deleting];
