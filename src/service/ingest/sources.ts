import type { Source } from '../../contract/sources.ts';
import type { FileFormat, SourceRecord } from '../catalog/records.ts';
import type { UsageFigures } from '../compute/usage.ts';
import { QUOTE } from './csv-dialect.ts';
import { readCsvSettings, readEncoding } from './csv-format.ts';
import { eventTimeMicros } from './event-time.ts';
import type { Refuse } from './field-mappings.ts';

/** Kinds of external sources, which this service cannot read. */
const EXTERNAL = ['s3', 'kinesis', 'gcs', 'redshift', 'dynamodb', 'kafka', 'mongodb'] as const;
const SOURCES_MAX = 100;
/** Text within JSON is Unicode already: the encoding only says what the file had. */
const ENCODING = 'UTF-8';

const INSTEAD =
  'This service reads from no external source. Create the collection without it and add the documents with addDocuments, or describe an uploaded file with "file_upload"';

/**
 * The sources of a new collection, checked: only descriptions of uploaded files, whose documents arrive through
 * addDocuments. For every other kind, throws the error that `refuse` makes.
 */
export function readSources(given: readonly Source[], refuse: Refuse): SourceRecord[] {
  if (given.length > SOURCES_MAX) throw refuse(`"sources" has ${given.length} entries; at most ${SOURCES_MAX} may be`);
  const since = new Date().toISOString();
  const sources = given.map((one, index) => readSource(one, since, (why) => refuse(`sources[${index}] ${why}`)));
  const formats = new Set(sources.flatMap(({ format }) => (format === null ? [] : [JSON.stringify(format)])));
  if (formats.size > 1) {
    throw refuse(
      '"sources" have different "format_params", so that text could not be told apart; make a collection for each',
    );
  }
  return sources;
}

function readSource(given: Source, since: string, refuse: Refuse): SourceRecord {
  const external = EXTERNAL.filter((kind) => (given[kind] ?? null) !== null);
  const file = given.file_upload ?? null;
  if (external.length + (file === null ? 0 : 1) > 1) {
    const kinds = [...external, ...(file === null ? [] : ['file_upload'])].map((kind) => `"${kind}"`);
    throw refuse(`names the kinds ${kinds.join(' and ')}; a source has one`);
  }
  if (external.length > 0) throw refuse(`is of the kind "${external[0]}". ${INSTEAD}`);
  if ((given.integration_name ?? null) !== null) {
    throw refuse(`uses the integration "${given.integration_name}". ${INSTEAD}`);
  }
  if (file === null) throw refuse('names no kind; give it a "file_upload"');
  const { file_name: fileName, file_size: fileSize, file_upload_time: uploadTime } = file;
  if ((fileName ?? '') === '') throw refuse('has no "file_upload.file_name"');
  if (typeof fileSize === 'number' && fileSize < 0) throw refuse(`has the file_upload.file_size ${fileSize}`);
  if (typeof uploadTime === 'string' && eventTimeMicros(uploadTime) === undefined) {
    throw refuse(`has the file_upload.file_upload_time "${uploadTime}", which is no ISO-8601 timestamp`);
  }
  return {
    fileName: fileName ?? '',
    fileSize: fileSize ?? null,
    uploadTime: uploadTime ?? null,
    since,
    format: readFormat(given.format_params ?? {}, (why) => refuse(`format_params ${why}`)),
  };
}

function readFormat(given: NonNullable<Source['format_params']>, refuse: Refuse): FileFormat | null {
  const csv = given.csv ?? null;
  const xml = given.xml ?? null;
  const kinds = [given.json === true ? 'json' : '', csv === null ? '' : 'csv', xml === null ? '' : 'xml'].filter(
    Boolean,
  );
  if (kinds.length > 1) throw refuse(`names the formats ${kinds.join(' and ')}; a file has one`);
  if (csv !== null) return readCsv(csv, refuse);
  if (xml !== null) return readXml(xml, refuse);
  return given.json === true ? { kind: 'json' } : null;
}

function readCsv(given: NonNullable<NonNullable<Source['format_params']>['csv']>, refuse: Refuse): FileFormat {
  const { firstLineAsColumnNames = false, quoteChar = QUOTE, ...settings } = readCsvSettings(given, refuse);
  const { columnNames = [], columnTypes = [] } = settings;
  if (columnNames.length === 0 && !firstLineAsColumnNames) {
    throw refuse('csv has no names for its columns; give "columnNames", or "firstLineAsColumnNames": true');
  }
  return {
    kind: 'csv',
    firstLineAsColumnNames,
    separator: settings.separator ?? ',',
    encoding: settings.encoding ?? ENCODING,
    columnNames,
    columnTypes,
    quoteChar,
    escapeChar: settings.escapeChar ?? quoteChar,
  };
}

function readXml(given: NonNullable<NonNullable<Source['format_params']>['xml']>, refuse: Refuse): FileFormat {
  const empty = (['root_tag', 'doc_tag', 'value_tag'] as const).find((name) => given[name] === '');
  if (empty !== undefined) throw refuse(`xml.${empty} is empty`);
  return {
    kind: 'xml',
    root_tag: given.root_tag ?? null,
    encoding: readEncoding('xml', given.encoding, refuse) ?? ENCODING,
    doc_tag: given.doc_tag ?? null,
    value_tag: given.value_tag ?? '#text',
    attribute_prefix: given.attribute_prefix ?? '@',
  };
}

/** How to parse text that is added to the collection; null if text is not accepted. */
export function formatOf(sources: readonly SourceRecord[]): FileFormat | null {
  return sources.find((source) => source.format !== null)?.format ?? null;
}

/** A source as the API returns it: with all kinds, of which the others are null. */
export function toSource(record: SourceRecord, status: 'CREATED' | 'READY', figures: UsageFigures['file']): Source {
  const external = Object.fromEntries(EXTERNAL.map((kind) => [kind, null]));
  return {
    integration_name: record.integrationName ?? null,
    ...external,
    file_upload: {
      file_name: record.fileName,
      file_size: record.fileSize,
      file_upload_time: record.uploadTime,
    },
    status: {
      state: status === 'CREATED' ? 'INITIALIZING' : 'ACTIVE',
      since: record.since,
      message: 'Documents of this file come through addDocuments.',
      last_processed_at: figures?.takenAt ?? null,
      last_processed_item: (figures?.taken ?? 0) > 0 ? record.fileName : null,
      total_processed_items: figures?.taken ?? 0,
      last_error_at: figures?.refusedAt ?? null,
      last_error_item: (figures?.refused ?? 0) > 0 ? record.fileName : null,
      last_error_reason: figures?.refusedWhy ?? null,
      total_error_items: figures?.refused ?? 0,
    },
    format_params: toFormatParams(record.format),
  };
}

function toFormatParams(format: FileFormat | null): Source['format_params'] {
  if (format === null) return null;
  const { kind, ...params } = format;
  return {
    json: kind === 'json',
    csv: kind === 'csv' ? params : null,
    xml: kind === 'xml' ? params : null,
  };
}
