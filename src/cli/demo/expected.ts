import type { Cell, Expected } from './check.ts';
import type { BirdStrike, DemoData, Earthquake } from './data.ts';

// The expected answers of the story, computed from the raw records in plain JavaScript: the demo fails if the service
// says anything else.

const COLLECTIONS = ['birdstrikes', 'capitals', 'earthquakes'] as const;

export function workspaces(): Expected {
  return {
    columns: ['workspace', 'collections'],
    rows: [
      ['commons', 0],
      ['demo', 3],
    ],
  };
}

/** The collections, except those that were deleted. */
export function collections(data: DemoData, deleted: readonly string[] = []): Expected {
  const left = COLLECTIONS.filter((name) => !deleted.includes(name));
  return {
    columns: ['workspace', 'collection', 'documents'],
    rows: left.map((name) => ['demo', name, data[name].length]),
  };
}

/** How many documents describe_collection is asked to sample. */
export const SAMPLE = 1_000;

/** The paths shown of an earthquake, with their values in the records. */
const EARTHQUAKE_FIELDS: Record<string, (quake: Earthquake) => unknown> = {
  _id: (quake) => quake._id,
  'properties.mag': (quake) => quake.properties.mag,
  'properties.place': (quake) => quake.properties.place,
  'properties.net': (quake) => quake.properties.net,
  'properties.felt': (quake) => quake.properties.felt,
  'properties.alert': (quake) => quake.properties.alert,
  'geometry.coordinates': (quake) => quake.geometry.coordinates,
  'geometry.coordinates[]': (quake) => quake.geometry.coordinates[0],
};
export const EARTHQUAKE_PATHS = Object.keys(EARTHQUAKE_FIELDS);

export function earthquakeFields({ earthquakes }: DemoData): Expected {
  const sample = earthquakes.slice(0, SAMPLE);
  const rows = Object.entries(EARTHQUAKE_FIELDS).map(([path, fieldOf]) => {
    const present = sample.filter((quake) => fieldOf(quake) !== null).length;
    return [path, `${Math.round((100 * present) / sample.length)}%`];
  });
  return { columns: ['path', 'present'], rows };
}

export const STRIKE_PATHS = ['"Wildlife Species"', '"Cost Total $"', '"Speed IAS in knots"'];

/** Types by path: a speed is a number or a text. */
export function strikeFields(): Expected {
  return {
    columns: ['path', 'type'],
    rows: STRIKE_PATHS.map((path, at) => [path, ['VARCHAR', 'BIGINT', 'JSON (integer|text)'][at] ?? null]),
  };
}

export function deleted(collection: string): Expected {
  return { columns: ['workspace', 'collection', 'status'], rows: [['demo', collection, 'DELETED']] };
}

export function strongest({ earthquakes }: DemoData): Expected {
  const times = earthquakes.map((quake) => Date.parse(quake._event_time));
  return {
    columns: ['quakes', 'strongest', 'first', 'last'],
    rows: [
      [
        earthquakes.length,
        Math.max(...earthquakes.map((quake) => quake.properties.mag)),
        new Date(Math.min(...times)),
        new Date(Math.max(...times)),
      ],
    ],
  };
}

export function days({ earthquakes }: DemoData): Expected {
  const byDay = grouped(earthquakes, (quake) => quake._event_time.slice(0, 10));
  const rows = byDay.map(([day, quakes]) => {
    const [top] = descending(quakes, (quake) => quake.properties.mag);
    return [day, quakes.length, top?.properties.mag ?? null, top?.properties.place ?? null];
  });
  return {
    columns: ['day', 'quakes', 'strongest', 'place'],
    rows: rows.sort(([a], [b]) => String(a).localeCompare(String(b))),
  };
}

export function depths({ earthquakes }: DemoData): Expected {
  const byDepth = grouped(earthquakes, ({ geometry: { coordinates } }) => {
    const km = coordinates[2];
    if (km < 70) return 'shallow, under 70 km';
    return km < 300 ? 'intermediate' : 'deep, over 300 km';
  });
  const rows = byDepth.map(([depth, quakes]): Cell[] => {
    const sum = quakes.reduce((total, quake) => total + quake.properties.mag, 0);
    return [depth, quakes.length, Math.round((100 * sum) / quakes.length) / 100];
  });
  return { columns: ['depth', 'quakes', 'mean_mag'], rows: descending(rows, ([, , mean]) => -Number(mean)) };
}

export function feltKnown({ earthquakes }: DemoData): Expected {
  const known = earthquakes.filter((quake) => quake.properties.felt !== null).length;
  const all = earthquakes.length;
  return {
    columns: ['quakes', 'felt_known', 'percent_null'],
    rows: [[all, known, Math.round((1000 * (all - known)) / all) / 10]],
  };
}

export function feltBy({ earthquakes }: DemoData, people: number): Expected {
  const felt = earthquakes.map((quake) => quake.properties).filter((quake) => (quake.felt ?? 0) >= people);
  return {
    columns: ['place', 'mag', 'reports'],
    rows: descending(felt, (quake) => quake.felt ?? 0).map((quake) => [quake.place, quake.mag, quake.felt]),
  };
}

export function strongestIn({ earthquakes }: DemoData, network: string): Expected {
  const quakes = earthquakes.map((quake) => quake.properties).filter((quake) => quake.net === network);
  const [top] = descending(quakes, (quake) => quake.mag);
  return { columns: ['strongest', 'place'], rows: [[top?.mag ?? null, top?.place ?? null]] };
}

export function costliestSpecies({ birdstrikes }: DemoData): Expected {
  const rows = grouped(birdstrikes, (strike) => strike['Wildlife Species']).map(([species, strikes]): Cell[] => [
    species,
    strikes.length,
    strikes.reduce((total, strike) => total + strike['Cost Total $'], 0),
  ]);
  return {
    columns: ['species', 'strikes', 'dollars'],
    rows: descending(rows, ([, , dollars]) => Number(dollars)).slice(0, 5),
  };
}

export function speeds({ birdstrikes }: DemoData): Expected {
  const rows = grouped(birdstrikes, (strike) => strike['Phase of flight']).map(([phase, strikes]): Cell[] => {
    const known = strikes.map((strike: BirdStrike) => strike['Speed IAS in knots']).filter((speed) => speed !== '');
    return [phase, strikes.length, known.length, median(known)];
  });
  return {
    columns: ['phase', 'strikes', 'with_speed', 'median_knots'],
    rows: descending(rows, ([, strikes]) => Number(strikes)).slice(0, 5),
  };
}

export function states({ birdstrikes, capitals }: DemoData): Expected {
  const rows = grouped(birdstrikes, (strike) => strike['Origin State']).map(([state, strikes]): Cell[] => [
    state,
    capitals.find((capital) => capital.state === state)?.city ?? null,
    strikes.length,
  ]);
  return {
    columns: ['state', 'capital', 'strikes'],
    rows: descending(rows, ([, , strikes]) => Number(strikes)).slice(0, 8),
  };
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): [string, T[]][] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return [...groups];
}

function descending<T>(items: readonly T[], numberOf: (item: T) => number): T[] {
  return items.toSorted((a, b) => numberOf(b) - numberOf(a));
}

function median(numbers: readonly number[]): number | null {
  const sorted = numbers.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  return upper === undefined || lower === undefined ? null : (lower + upper) / 2;
}
