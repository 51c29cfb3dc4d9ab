import { isAvro } from '../../contract/avro/container.ts';
import { ApiError } from '../../contract/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../contract/json/json.ts';
import { CsvParams } from '../../contract/sources.ts';
import { type CsvSettings, readCsvSettings } from '../ingest/csv-format.ts';
import type { XmlSettings } from '../ingest/xml-file.ts';
import { refused } from './objects-settings.ts';
import type { SourceError } from './source.ts';

/** How the documents of an object are written. */
export type ObjectFormat =
  /** `isLines`: each line is one, whatever is on it. */
  | { kind: 'json'; isLines: boolean }
  | { kind: 'csv'; csv: CsvSettings }
  | { kind: 'xml'; xml: XmlSettings }
  | { kind: 'parquet' }
  | { kind: 'avro' };

const JSON_FORMAT: ObjectFormat = { kind: 'json', isLines: false };
const LINES: ObjectFormat = { kind: 'json', isLines: true };
const CSV: ObjectFormat = { kind: 'csv', csv: {} };
const TABBED: ObjectFormat = { kind: 'csv', csv: { separator: '\t' } };
const XML: ObjectFormat = { kind: 'xml', xml: {} };
const PARQUET: ObjectFormat = { kind: 'parquet' };
const AVRO: ObjectFormat = { kind: 'avro' };

const BY_NAME: Readonly<Record<string, ObjectFormat>> = {
  json: JSON_FORMAT,
  jsonl: LINES,
  ndjson: LINES,
  csv: CSV,
  tsv: TABBED,
  xml: XML,
  parquet: PARQUET,
  avro: AVRO,
};
const ENDINGS: Readonly<Record<string, ObjectFormat>> = { ...BY_NAME, geojson: JSON_FORMAT, pq: PARQUET };
const FORMATS = 'json, csv, xml, parquet and avro';
const COMPRESSED = /\.(?:gz|gzip|zst|zstd)$/i;
const PARQUET_MAGIC = 'PAR1';

/**
 * The format of an object by its key and its first bytes, decompressed; undefined: neither tells. The one that the source's
 * settings name is that of all objects. Throws a `SourceError` for formats that are not read.
 */
export function formatsOf(
  format: JsonValue | undefined,
  params: JsonObject | null,
): (key: string, head: Buffer) => ObjectFormat | undefined {
  const named = namedFormat(format);
  const described = describedFormat(params);
  if (named !== undefined && described !== undefined && named.kind !== described.kind) {
    throw refused(`format says ${named.kind}, and format_params ${described.kind}; objects have one format.`);
  }
  const fixed = described ?? named;
  return fixed === undefined ? formatOf : () => fixed;
}

function namedFormat(given: JsonValue | undefined): ObjectFormat | undefined {
  if (given === undefined || given === null || given === '') return undefined;
  const name = String(given).toLowerCase();
  if (Object.hasOwn(BY_NAME, name)) return BY_NAME[name];
  throw notRead(name);
}

function notRead(name: string): SourceError {
  return refused(
    `Objects of the format ${JSON.stringify(name.slice(0, 60))} are not read here; the formats are ${FORMATS}, each also with gzip and zstd.`,
  );
}

function describedFormat(params: JsonObject | null): ObjectFormat | undefined {
  const given = Object.entries(params ?? {}).filter(([, value]) => value !== null && value !== false);
  const [first, second] = given;
  if (first === undefined) return undefined;
  if (second !== undefined) {
    throw refused(`format_params names ${given.map(([name]) => name).join(' and ')}; objects have one format.`);
  }
  const [name, value] = first;
  if (name === 'csv') return { kind: 'csv', csv: csvOf(value) };
  if (name === 'xml') return { kind: 'xml', xml: xmlOf(value) };
  if (name === 'json' || name === 'parquet' || name === 'avro') return BY_NAME[name];
  throw notRead(name);
}

function csvOf(value: JsonValue): CsvSettings {
  const { data } = CsvParams.safeParse(value);
  if (data === undefined) throw refused('format_params.csv is no object of the fields that it has.');
  try {
    return readCsvSettings(data, (why) => new ApiError('invalid_input', `format_params.${why}.`));
  } catch (error) {
    throw error instanceof ApiError ? refused(error.message) : error;
  }
}

function xmlOf(value: JsonValue): XmlSettings {
  const fields = isObject(value) ? value : {};
  const text = (name: string) => {
    const given = fields[name] ?? undefined;
    if (given === undefined || (typeof given === 'string' && given !== '')) return given;
    throw refused(`format_params.xml.${name} has to be text.`);
  };
  return {
    docTag: text('doc_tag'),
    rootTag: text('root_tag'),
    valueTag: text('value_tag'),
    attributePrefix: text('attribute_prefix'),
    encoding: text('encoding'),
  };
}

function formatOf(key: string, head: Buffer): ObjectFormat | undefined {
  const ending = key.replace(COMPRESSED, '').split('.').at(-1)?.toLowerCase() ?? '';
  if (Object.hasOwn(ENDINGS, ending)) return ENDINGS[ending];
  if (head.toString('latin1', 0, PARQUET_MAGIC.length) === PARQUET_MAGIC) return PARQUET;
  if (isAvro(head)) return AVRO;
  return /^\ufeff?\s{0,64}[{[]/.test(head.toString('utf8', 0, 80)) ? JSON_FORMAT : undefined;
}
