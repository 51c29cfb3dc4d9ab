import { type CompatFunction, once } from './entry.ts';

const RADIUS_M = 6_371_008.8;

/** Coordinates of a GeoJSON object, a struct or JSON; named once in the expression, as arguments must not be copied. */
const COORDINATES = (value: string) => `json_extract(to_json(${value}), '$.coordinates')`;
const isPoint = (coordinates: string) => `coalesce(json_type(${coordinates}, '$[0]'), 'NULL') <> 'ARRAY'`;
const isPolygon = (coordinates: string) =>
  `coalesce(json_type(${coordinates}, '$[0]'), 'ARRAY') = 'ARRAY' AND
  coalesce(json_type(${coordinates}, '$[0][0]'), 'ARRAY') = 'ARRAY' AND coalesce(json_type(${coordinates}, '$[0][0][0]'), 'DOUBLE') <> 'ARRAY'`;

/** An expression over `c.<name>`, computed once each: the coordinates of the points in the arguments `p.<name>`. */
function ofPoints(name: string, parameters: string[], expression: string): string {
  const fields = parameters.map((one) => {
    const coordinates = COORDINATES(`p.${one}`);
    return `'${one}': CASE WHEN ${isPoint(coordinates)} THEN TRY_CAST(${coordinates} AS DOUBLE[])
      ELSE error('${name} takes points, and this is another shape.') END`;
  });
  const body = expression.replace(/\bc\.([a-z])/g, "c['$1']");
  return once(parameters.join(' '), `list_transform([{${fields.join(', ')}}], lambda c: ${body})[1]`);
}

/** Null if a coordinate is null: the engine's least() skips it. */
const HAVERSINE = `CASE WHEN c.a[1] + c.a[2] + c.b[1] + c.b[2] IS NOT NULL THEN 2 * ${RADIUS_M} * asin(system.main.least(1, sqrt(
  pow(sin(radians(c.b[2] - c.a[2]) / 2), 2) + cos(radians(c.a[2])) * cos(radians(c.b[2])) *
  pow(sin(radians(c.b[1] - c.a[1]) / 2), 2)))) END`;

/** Whether the edge from point i to the next one of a ring crosses the ray to the east of the point. */
const CROSSES = `(r[i][2] > c['q'][2]) <> (r[i + 1][2] > c['q'][2]) AND c['q'][1] <
  (r[i + 1][1] - r[i][1]) * (c['q'][2] - r[i][2]) / (r[i + 1][2] - r[i][2]) + r[i][1]`;
const CONTAINS = once(
  'g q',
  `list_transform([{
    'g': CASE WHEN ${isPolygon(COORDINATES('p.g'))} THEN TRY_CAST(${COORDINATES('p.g')} AS DOUBLE[][][])
      ELSE error('ST_CONTAINS takes a polygon first, and this is another shape.') END,
    'q': CASE WHEN ${isPoint(COORDINATES('p.q'))} THEN TRY_CAST(${COORDINATES('p.q')} AS DOUBLE[])
      ELSE error('ST_CONTAINS looks for a point, and this is another shape: test the corners of a polygon one by one.') END
  }], lambda c: CASE WHEN c['q'][1] + c['q'][2] IS NOT NULL THEN
    list_sum(list_transform(c['g'], lambda r: list_sum(list_transform(range(1, len(r)), lambda i: (${CROSSES})::INTEGER)))) % 2 = 1
  END)[1]`,
);

const NUMBER = '[-+]?(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][-+]?[0-9]+)?';
const PAIR = `\\s*${NUMBER}\\s+${NUMBER}\\s*`;
const RING = `\\s*\\(${PAIR}(?:,${PAIR}){3,}\\)\\s*`;
const NUMBERS_OF = (text: string) => `list_transform(regexp_extract_all(${text}, '${NUMBER}'), lambda n: n::DOUBLE)`;
const RINGS = `list_transform(regexp_extract_all(p.t, '\\(([^()]+)\\)', 1),
  lambda r: list_transform(string_split(r, ','), lambda q: ${NUMBERS_OF('q')}))`;
const FROM_TEXT = once(
  't',
  `CASE WHEN p.t IS NULL THEN NULL
    WHEN regexp_full_match(p.t, '(?i)\\s*POINT\\s*\\(${PAIR}\\)\\s*')
    THEN {'type': 'Point', 'coordinates': to_json(${NUMBERS_OF('p.t')})}
    WHEN regexp_full_match(p.t, '(?i)\\s*POLYGON\\s*\\(${RING}(?:,${RING})*\\)\\s*')
      AND list_bool_and(list_transform(${RINGS}, lambda r: r[1] = r[-1]))
    THEN {'type': 'Polygon', 'coordinates': to_json(${RINGS})}
    ELSE error('ST_GEOGFROMTEXT reads POINT(lon lat) and POLYGON((lon lat, …, first lon lat), …), and not: ' || left(p.t, 80)) END`,
);

const SQUARE = "ST_GEOGFROMTEXT('POLYGON((0 0, 10 0, 10 10, 0 10, 0 0))')";

export const GEOGRAPHY: readonly CompatFunction[] = [
  {
    name: 'ST_GEOGPOINT',
    macro: [
      once(
        'lon lat',
        `CASE WHEN p.lon IS NULL OR p.lat IS NULL THEN NULL WHEN abs(p.lon) > 180 OR abs(p.lat) > 90
          THEN error('ST_GEOGPOINT takes a longitude from -180 to 180 and a latitude from -90 to 90, in this order.')
          ELSE {'type': 'Point', 'coordinates': [p.lon::DOUBLE, p.lat::DOUBLE]} END`,
      ),
    ],
    example: 'ST_GEOGPOINT(13.4, 52.5).coordinates',
    gives: [13.4, 52.5],
    note: 'Longitude, latitude. Points and polygons are GeoJSON objects, as documents hold them too.',
  },
  {
    name: 'ST_GEOGFROMTEXT',
    macro: [FROM_TEXT],
    example: "ST_GEOGFROMTEXT('POINT(13.4 52.5)')",
    gives: { type: 'Point', coordinates: [13.4, 52.5] },
    note: 'Of POINT and POLYGON texts, whose rings end where they begin; its coordinates are JSON.',
  },
  {
    name: 'ST_X',
    macro: [ofPoints('ST_X', ['a'], 'c.a[1]')],
    example: 'ST_X(ST_GEOGPOINT(13.4, 52.5))',
    gives: 13.4,
  },
  {
    name: 'ST_Y',
    listedWith: 'ST_X',
    macro: [ofPoints('ST_Y', ['a'], 'c.a[2]')],
    example: 'ST_Y(ST_GEOGPOINT(13.4, 52.5))',
    gives: 52.5,
  },
  {
    name: 'ST_DISTANCE',
    macro: [ofPoints('ST_DISTANCE', ['a', 'b'], HAVERSINE)],
    example: 'round(ST_DISTANCE(ST_GEOGPOINT(13.4, 52.5), ST_GEOGPOINT(2.35, 48.85)) / 1000)',
    gives: 877,
    note: 'Meters between two points on a sphere.',
  },
  {
    name: 'ST_CONTAINS',
    macro: [CONTAINS],
    example: `ST_CONTAINS(${SQUARE}, ST_GEOGPOINT(5, 5))`,
    gives: true,
    note: 'A polygon and a point, in the plane of the coordinates; holes count, edges are straight in degrees. Cut a polygon that crosses 180° in two.',
  },
].map((one) => ({ group: 'Geography', ...one }));
