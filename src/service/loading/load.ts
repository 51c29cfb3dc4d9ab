import * as z from 'zod';
import { type ColumnTypes, readColumnTypes, requireOwnTypes } from '../../contract/column-types.ts';
import { ApiError } from '../../contract/errors.ts';
import { parseJson } from '../../contract/json/json.ts';
import type { EntryUnit, LoadFormat, LoadResult } from '../../contract/load.ts';
import { CsvParams } from '../../contract/sources.ts';
import { cut } from '../../contract/text.ts';
import type { RefusedRow } from '../../engine/engine.ts';
import { requireCollection } from '../catalog/not-found.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import type { CallContext } from '../context.ts';
import { readCsvSettings } from '../ingest/csv-format.ts';
import { OWN_FIELDS } from '../ingest/field-mappings.ts';
import type { TableNote } from '../ingest/seen-rows.ts';
import { countAside } from '../queries/aside-rows.ts';
import { loadDocuments, sampleDocuments } from './load-documents.ts';
import { loadRows, sampleRows } from './load-rows.ts';
import { type LoadOptions, type LoadOutcome, type LoadSample, newOutcome } from './loading.ts';
import { repeatedNote } from './repeated-rows.ts';

/** The arguments of a load, checked (`contract/load.ts`). */
interface LoadInput {
  workspace: string;
  collection: string;
  format: LoadFormat;
  id_field?: string;
  sample?: number;
  skip?: number;
  line?: number;
  unit?: EntryUnit;
  file_field?: string;
  file_name?: string;
  header_row?: number;
  on_error?: 'stop' | 'skip';
  csv?: string;
  types?: string;
}

/** Adds the documents of a stream to a collection; `tell` is called after each step that is durable. */
export async function load(
  ctx: CallContext,
  given: Record<string, unknown>,
  body: AsyncIterable<Buffer>,
  tell: LoadOptions['tell'],
): Promise<LoadResult> {
  const input = given as unknown as LoadInput;
  const { format, id_field: idField, skip = 0, line, unit, header_row: headerRow, on_error: onError = 'stop' } = input;
  const types = typesOf(input.types);
  const fileField = fileFieldOf(input);
  if (format !== 'csv') requireOwnTypes(types, format);
  const options: LoadOptions = {
    format,
    idField,
    skip,
    line,
    unit,
    fileField,
    headerRow,
    onError,
    csv: csvOf(input.csv),
    types,
    tell,
  };
  const isRows = format === 'csv' || format === 'parquet';
  if (input.sample !== undefined) {
    const sampled = isRows
      ? sampleRows(ctx, body, options, input.sample)
      : sampleDocuments(ctx, body, options, input.sample);
    return sampleResult(await sampled);
  }
  const collection = requireCollection(ctx.catalog, input.workspace, input.collection);
  const loading = isRows ? loadRows(ctx, collection, body, options) : loadDocuments(ctx, collection, body, options);
  const outcome = await loading;
  outcome.warnings.unshift(...(await repeatWarnings(ctx, collection, outcome, options)));
  const repeated = await repeatedNote(ctx, collection, outcome);
  if (repeated !== undefined) {
    outcome.warnings.push(repeated);
    outcome.lasting = [...outcome.lasting, { text: repeated }];
  }
  await keepNotes(ctx, collection, outcome);
  return resultOf(outcome);
}

/**
 * Warns of an id that is not unique in its file. Each part knows how often one came again within it; over all parts, what
 * was stored is more than the documents that there are now.
 */
async function repeatWarnings(
  { engine }: CallContext,
  { table, retentionSecs }: CollectionRecord,
  { added, replaced, repeated }: LoadOutcome,
  { idField = '_id', format }: LoadOptions,
): Promise<string[]> {
  if (replaced === 0) return [];
  const stored = added + replaced;
  // Documents past their retention are not counted.
  const { docCount } = retentionSecs === null ? await engine.stats(table) : { docCount: stored };
  const least = Math.max(repeated, stored - docCount);
  if (least === 0) return [];
  const some = `${least === replaced ? '' : 'at least '}${least.toLocaleString('en-US')} of ${stored.toLocaleString('en-US')}`;
  const rows = format === 'csv' || format === 'parquet' ? 'rows' : 'documents';
  return [`${JSON.stringify(cut(idField, 100))} is not unique: ${some} ${rows} replaced others of this file.`];
}

/** Keeps what is told of the documents for those who ask later; what was told of documents that are gone goes with them. */
async function keepNotes(
  ctx: CallContext,
  collection: CollectionRecord,
  { lasting, added, replaced }: LoadOutcome,
): Promise<void> {
  const { engine, usage } = ctx;
  const isKnown = usage.of(collection).notes.length > 0;
  if (lasting.length === 0 && (!isKnown || added + replaced === 0)) return;
  const isAll = isKnown && (await engine.stats(collection.table)).docCount <= added + replaced;
  const notes: TableNote[] = [];
  for (const { text, where, count = Number.POSITIVE_INFINITY } of lasting) {
    const found = where === undefined ? 0 : await countAside(ctx, collection, where);
    // Where other documents are like them, it would leave these out, too.
    notes.push(where === undefined || found > count ? { text } : { text, where, count: found });
  }
  usage.noted(collection, notes, isAll);
}

function resultOf({
  refused,
  withoutId,
  refusedCount,
  repeated: _,
  lasting: _lasting,
  ...rest
}: LoadOutcome): LoadResult {
  return { ...rest, without_id: withoutId, refused_count: refusedCount, refused: refused.map(shown) };
}

function sampleResult({ documents, columns, refused, isAll, ...rest }: LoadSample): LoadResult {
  const entries = documents.length + refused.length;
  const outcome = { ...newOutcome(), entries, refused, refusedCount: refused.length, ...rest };
  return { ...resultOf(outcome), sample: documents, columns, is_all: isAll };
}

function shown({ at, id, why, kind }: RefusedRow): LoadResult['refused'][number] {
  return { at, _id: id, error: why, ...(kind === undefined ? {} : { kind }) };
}

function fileFieldOf({ file_field: name, file_name: text, id_field: idField }: LoadInput): LoadOptions['fileField'] {
  if (name === undefined) return undefined;
  const isOwn = OWN_FIELDS.has(name.toLowerCase()) || /^_(?:strays|extra)$/i.test(name);
  if (text !== undefined && !isOwn && name !== idField) return { name, text };
  const is = `"file_field" is ${JSON.stringify(name)}`;
  const why =
    text === undefined
      ? '"file_field" needs "file_name"'
      : isOwn
        ? `${is}, which every document has`
        : `${is}, and so is "id_field": all documents of a file would be one`;
  throw new ApiError('invalid_input', `Cannot load documents: ${why}.`);
}

function typesOf(text: string | undefined): ColumnTypes {
  const read = readColumnTypes(text ?? 'infer');
  if ('types' in read) return read.types;
  throw new ApiError('invalid_input', `Cannot load documents: "types": ${read.problem}.`);
}

/** The fields of `format_params.csv`, and no others. */
const Csv = z.strictObject(CsvParams.shape);

function csvOf(text: string | undefined): LoadOptions['csv'] {
  if (text === undefined) return undefined;
  const refuse = (why: string) => new ApiError('invalid_input', `Cannot load documents: ${why}.`);
  const noFields = (why: string) => refuse(`"csv" is not an object of the fields of format_params.csv: ${why}`);
  let json: unknown;
  try {
    json = parseJson(text);
  } catch {
    throw noFields('it is no JSON');
  }
  const { data, error } = Csv.safeParse(json);
  if (data !== undefined) return readCsvSettings(data, refuse);
  const [issue] = error?.issues ?? [];
  throw noFields(`${issue?.path.map(String).join('.') || 'it'}: ${issue?.message ?? 'not as expected'}`);
}
