import { type CompatFunction, once } from './entry.ts';

const RADIUS_M = 6_371_008.8;
const HAVERSINE = `2 * ${RADIUS_M} * asin(least(1, sqrt(
  pow(sin(radians(p.b['coordinates'][2] - p.a['coordinates'][2]) / 2), 2) +
  cos(radians(p.a['coordinates'][2])) * cos(radians(p.b['coordinates'][2])) *
  pow(sin(radians(p.b['coordinates'][1] - p.a['coordinates'][1]) / 2), 2))))`;
/** Whether the edge from point i to the next one of a ring crosses the ray to the east of the point. */
const CROSSES = `(r[i][2] > p.q['coordinates'][2]) <> (r[i + 1][2] > p.q['coordinates'][2]) AND p.q['coordinates'][1] <
  (r[i + 1][1] - r[i][1]) * (p.q['coordinates'][2] - r[i][2]) / (r[i + 1][2] - r[i][2]) + r[i][1]`;
const SQUARE = "ST_GEOGFROMTEXT('POLYGON((0 0, 10 0, 10 10, 0 10, 0 0))')";
const NUMBERS_OF = (text: string) => `list_transform(string_split(trim(${text}), ' '), lambda n: n::DOUBLE)`;

export const GEOGRAPHY: readonly CompatFunction[] = [
  {
    name: 'ST_GEOGPOINT',
    macro: ["(lon, lat) AS {'type': 'Point', 'coordinates': [lon::DOUBLE, lat::DOUBLE]}"],
    example: 'ST_GEOGPOINT(13.4, 52.5).coordinates',
    gives: [13.4, 52.5],
    note: 'Longitude, latitude. Points and polygons are GeoJSON objects, as documents hold them too.',
  },
  {
    name: 'ST_GEOGFROMTEXT',
    macro: [
      `(t) AS {'type': 'Polygon', 'coordinates': list_transform(regexp_extract_all(t, '\\(([^()]+)\\)', 1),
        lambda r: list_transform(string_split(r, ','), lambda q: ${NUMBERS_OF('q')}))}`,
    ],
    example: `len(${SQUARE}.coordinates[1])`,
    gives: 5,
    note: 'Of POLYGON texts; for a point use ST_GEOGPOINT.',
  },
  { name: 'ST_X', macro: ["(p) AS p['coordinates'][1]"], example: 'ST_X(ST_GEOGPOINT(13.4, 52.5))', gives: 13.4 },
  { name: 'ST_Y', macro: ["(p) AS p['coordinates'][2]"], example: 'ST_Y(ST_GEOGPOINT(13.4, 52.5))', gives: 52.5 },
  {
    name: 'ST_DISTANCE',
    macro: [once('a b', HAVERSINE)],
    example: 'round(ST_DISTANCE(ST_GEOGPOINT(13.4, 52.5), ST_GEOGPOINT(2.35, 48.85)) / 1000)',
    gives: 877,
    note: 'Meters between two points on a sphere.',
  },
  {
    name: 'ST_CONTAINS',
    macro: [
      once(
        'g q',
        `list_sum(list_transform(p.g['coordinates'], lambda r: list_sum(list_transform(range(1, len(r)), lambda i: (${CROSSES})::INTEGER)))) % 2 = 1`,
      ),
    ],
    example: `ST_CONTAINS(${SQUARE}, ST_GEOGPOINT(5, 5))`,
    gives: true,
    note: 'A polygon and a point, in the plane of the coordinates; holes count, edges are straight in degrees.',
  },
].map((one) => ({ group: 'Geography', ...one }));
