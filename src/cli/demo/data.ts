import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

/** An earthquake as USGS publishes it (GeoJSON), with our `_id` and `_event_time`; only fields that the demo reads. */
export interface Earthquake {
  _id: string;
  _event_time: string;
  properties: { mag: number; place: string; net: string; felt: number | null; alert: string | null };
  /** Longitude, latitude, depth in km. */
  geometry: { coordinates: [number, number, number] };
}

/** A bird strike as some exporter writes it: a speed is a number, or "" if nobody noted it. */
export interface BirdStrike {
  'Origin State': string;
  'Phase of flight': string;
  'Wildlife Species': string;
  'Cost Total $': number;
  'Speed IAS in knots': number | '';
}

export interface Capital {
  state: string;
  city: string;
}

/** The raw records, from which the demo also computes the expected answers. */
export interface DemoData {
  earthquakes: Earthquake[];
  birdstrikes: BirdStrike[];
  capitals: Capital[];
}

/** What each collection contains, for people and for the collection's description. */
export const DESCRIPTIONS: Readonly<Record<keyof DemoData, string>> = {
  earthquakes: 'One week of earthquakes, USGS, early 2018',
  birdstrikes: 'Aircraft that struck wildlife, FAA, from 1990 on',
  capitals: 'Capitals of the 50 U.S. states, USGS',
};

/** Reads the records from `folder`, where the build put them. */
export async function readDemoData(folder: URL): Promise<DemoData> {
  const read = async (name: keyof DemoData) => {
    const bytes = await promisify(gunzip)(await readFile(new URL(`${name}.json.gz`, folder)));
    return JSON.parse(bytes.toString('utf8')) as never;
  };
  return {
    earthquakes: await read('earthquakes'),
    birdstrikes: await read('birdstrikes'),
    capitals: await read('capitals'),
  };
}
