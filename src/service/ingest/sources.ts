import { INTEGRATION_KINDS } from '../../contract/integrations.ts';
import type { Source } from '../../contract/sources.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { FileFormat, FileSource, SourceRecord } from '../catalog/records.ts';
import type { UsageFigures } from '../compute/usage.ts';
import { externalKinds, readExternal } from '../sources/settings.ts';
import { QUOTE } from './csv-dialect.ts';
import { readCsvSettings, readEncoding } from './csv-format.ts';
import { eventTimeMicros } from './event-time.ts';
import type { Refuse } from './field-mappings.ts';

const SOURCES_MAX = 100;
/** Text within JSON is Unicode already: the encoding only says what the file had. */
const ENCODING = 'UTF-8';

/**
 * The sources of a new collection, checked as far as that is possible without asking them: external ones, and descriptions
 * of uploaded files, whose documents arrive through addDocuments. Throws the error that `refuse` makes.
 */
export function readSources(catalog: Pick<Catalog, 'all'>, given: readonly Source[], refuse: Refuse): SourceRecord[] {
  if (given.length > SOURCES_MAX) throw refuse(`"sources" has ${given.length} entries; at most ${SOURCES_MAX} may be`);
  const since = new Date().toISOString();
  const sources = given.map((one, index) =>
    readSource(catalog, one, since, (why) => refuse(`sources[${index}] ${why}`)),
  );
  const formats = new Set(
    sources.flatMap((one) => (isFile(one) && one.format !== null ? [JSON.stringify(one.format)] : [])),
  );
  if (formats.size > 1) {
    throw refuse(
      '"sources" have different "format_params", so that text could not be told apart; make a collection for each',
    );
  }
  return sources;
}

/** Whether a source is the description of an uploaded file. */
export function isFile(source: SourceRecord): source is FileSource {
  return !('kind' in source);
}

function readSource(catalog: Pick<Catalog, 'all'>, given: Source, since: string, refuse: Refuse): SourceRecord {
  const external = externalKinds(given);
  const file = given.file_upload ?? null;
  if (external.length + (file === null ? 0 : 1) > 1) {
    const kinds = [...external, ...(file === null ? [] : ['file_upload'])].map((kind) => `"${kind}"`);
    throw refuse(`names the kinds ${kinds.join(' and ')}; a source has one`);
  }
  const integration =
    (given.integration_name ?? '') === '' ? undefined : catalog.all('integration').get(given.integration_name ?? '');
  // What comes with a write key needs no settings.
  const [kind] =
    external.length === 0 && file === null && integration?.kind === 'segment' ? (['segment'] as const) : external;
  if (kind !== undefined) return readExternal(catalog, given, kind, since, refuse);
  if (file === null) {
    throw refuse(
      `names no kind; give it one of ${[...INTEGRATION_KINDS, 'file_upload'].map((one) => `"${one}"`).join(', ')}`,
    );
  }
  if ((given.integration_name ?? null) !== null) {
    throw refuse(`uses the integration "${given.integration_name}", which an uploaded file has no use for`);
  }
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
  return sources.filter(isFile).find((source) => source.format !== null)?.format ?? null;
}

/** An uploaded file as the API returns it: with all kinds, of which the others are null. */
export function toFileSource(record: FileSource, status: 'CREATED' | 'READY', figures: UsageFigures['file']): Source {
  return {
    integration_name: null,
    ...NO_KIND,
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

/** All kinds of sources, none of which it is. */
export const NO_KIND: Source = Object.fromEntries(
  [...INTEGRATION_KINDS.filter((kind) => kind !== 'segment'), 'file_upload'].map((kind) => [kind, null]),
);

function toFormatParams(format: FileFormat | null): Source['format_params'] {
  if (format === null) return null;
  const { kind, ...params } = format;
  return {
    json: kind === 'json',
    csv: kind === 'csv' ? params : null,
    xml: kind === 'xml' ? params : null,
  };
}
