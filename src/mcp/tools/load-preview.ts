import { basename, isAbsolute, sep } from 'node:path';
import { ApiError } from '../../contract/errors.ts';
import { counted } from '../../contract/in-words.ts';
import { type JsonObject, type JsonValue, stringifyJson } from '../../contract/json/json.ts';
import type { LoadResult } from '../../contract/load.ts';
import { toApiError } from '../errors.ts';
import { type Fenced, visibleValue } from '../fence.ts';
import { cutText, Room } from '../room.ts';
import { fieldsText } from './fields-text.ts';
import type { DocumentFile, FoundFile } from './file.ts';
import type { Target } from './load.ts';
import { readAs } from './load-answer.ts';
import type { LoadInput } from './load-arguments.ts';
import type { Planned } from './load-plan.ts';
import { tableOf } from './table-names.ts';
import type { ToolContext } from './tool.ts';

/** What a load would do, found by reading the beginning of each file. */

const SAMPLE = 200;
const ROWS = 5;
const COLUMNS_MAX = 50;
const CELL_CHARS_MAX = 80;
const ERROR_CHARS_MAX = 300;
const NAMES_MAX = 20;
const ROOM = { bytesMax: 16_000, tokensMax: 5_000 };
/** For the fields, and again for the rows, of all files together, of which each has an equal part. */
const TOKENS = { all: 2_500, most: 1_200, least: 60 };

/** Opens a file as the arguments say. */
export async function openAs(
  { means: { openFile }, signal }: Pick<ToolContext, 'means' | 'signal'>,
  { path, name }: FoundFile,
  input: LoadInput,
): Promise<DocumentFile> {
  const { format, types, id_field: idField, format_params: params = {} } = input;
  const { doc_tag: docTag, root_tag: rootTag, value_tag: valueTag, attribute_prefix: attributePrefix } = params;
  const { list_path: listPath, sheet, header_row: headerRow, encoding } = params;
  const xml = { docTag, rootTag, valueTag, attributePrefix };
  const file = await openFile?.({ path, format, types, listPath, xml, sheet, headerRow, idField, encoding, signal });
  if (file === undefined) throw new ApiError('internal', 'Files cannot be opened.');
  file.name = name;
  return file;
}

/** A name as documents keep it: below the allowed folder, and of several folders without what is before them. */
const withinFolder = (name: string) => (isAbsolute(name) ? basename(name) : name.split(sep).join('/'));

/** How a file is sent to the service. */
export function sentAs(
  file: Pick<DocumentFile, 'sentAs' | 'firstLine' | 'separator' | 'unit' | 'name'>,
  {
    id_field,
    file_field,
    types,
    format_params: params = {},
  }: Pick<LoadInput, 'id_field' | 'file_field' | 'types' | 'format_params'>,
) {
  const named = file_field === undefined ? {} : { file_field, file_name: withinFolder(file.name ?? '') };
  const sent = { format: file.sentAs, line: file.firstLine, unit: file.unit, id_field, ...named };
  if (file.sentAs !== 'csv') return sent;
  const { quoteChar, escapeChar, encoding, firstLineAsColumnNames, columnNames, columnTypes } = params;
  const { separator = file.separator } = params;
  const csv = { separator, quoteChar, escapeChar, encoding, firstLineAsColumnNames, columnNames, columnTypes };
  const typed = types === undefined || typeof types === 'string' ? types : JSON.stringify(types);
  return { ...sent, csv: JSON.stringify(csv), header_row: params.header_row, types: typed };
}

/** The separator of CSV, if it was recognized and is no comma. */
export function separatorFound(
  { separator }: Pick<LoadResult, 'separator'>,
  file: DocumentFile,
  { format_params: params }: LoadInput,
): string | undefined {
  const isKnown = params?.separator !== undefined || file.separator !== undefined;
  return isKnown || separator === ',' ? undefined : separator;
}

/** The answer of a dry run; rejects if the only file cannot be read. */
export async function previewOf(
  context: Pick<ToolContext, 'means' | 'client' | 'signal'>,
  { plan, leftOut }: { plan: readonly Planned[]; leftOut: readonly string[] },
  input: LoadInput,
): Promise<Fenced> {
  const room = new Room(ROOM);
  const { all, most, least } = TOKENS;
  const each = Math.max(least, Math.min(most, Math.floor(all / plan.length)));
  const shown: Record<string, unknown>[] = [];
  for (const planned of plan) {
    context.signal?.throwIfAborted();
    let one: Record<string, unknown>;
    try {
      if (planned.refused !== undefined) throw planned.refused;
      one = await previewed(context, planned, input, each);
    } catch (error) {
      if (plan.length === 1) throw error;
      one = { file: planned.found.name, error: cutText(toApiError(error).message, ERROR_CHARS_MAX) };
    }
    if (!room.take(JSON.stringify(one))) break;
    shown.push(one);
  }
  const [only] = shown;
  const left = plan.length - shown.length;
  const hasErrors = shown.some((one) => 'error' in one || 'refused' in one);
  return {
    data: {
      dry_run: true,
      ...(plan.length === 1 ? only : { files: shown }),
      ...(left > 0 ? { files_not_shown: left } : {}),
      ...(leftOut.length > 0 ? { other_files: leftOut.slice(0, NAMES_MAX), files_of_no_format: leftOut.length } : {}),
    },
    next: `nothing was written; ${hasErrors ? 'with "on_error": "skip" the load leaves out what is refused; ' : ''}call again without "dry_run" to load.`,
  };
}

/** Whether nothing of the file is stored before all of it has arrived. */
export function isInRows({ sentAs }: DocumentFile): boolean {
  return sentAs === 'csv' || sentAs === 'parquet';
}

/** The first documents of a file, as the service reads them; those before the first that is refused, unless these are skipped. */
export async function sampleOf(
  { client, signal }: Pick<ToolContext, 'client' | 'signal'>,
  { file, target: { workspace, collection } }: { file: DocumentFile; target: Target },
  input: LoadInput,
) {
  let broken: ApiError | undefined;
  async function* bytes() {
    try {
      for await (const { piece } of file.pieces()) yield piece;
    } catch (error) {
      if (isInRows(file)) throw error;
      // What comes before that can be read.
      broken = toApiError(error);
    }
  }
  const { id_field: idField, ...sent } = sentAs(file, input);
  const { on_error, event_time: eventTime } = input;
  const read = await client.load({ workspace, collection, ...sent, sample: SAMPLE, on_error }, bytes(), { signal });
  const { sample: documents = [], columns = [] } = read;
  requireField(documents, idField, 'id_field');
  // A name with dots leads into objects.
  requireField(documents, eventTime?.field.split('.', 1)[0], 'event_time');
  const refused = read.refused.map(({ at, error }) => ({ at, error: file.problemAt?.(at) ?? error }));
  if (broken !== undefined && documents.length + refused.length === 0) throw broken;
  const isAll = read.is_all === true && broken === undefined;
  const failure = broken?.message ?? read.stopped;
  const warnings = [...(file.warnings?.() ?? []), ...read.warnings];
  return { documents, columns, refused, isAll, failure, warnings, separator: separatorFound(read, file, input) };
}

async function previewed(
  { means, client, signal }: Pick<ToolContext, 'means' | 'client' | 'signal'>,
  { found, target }: Planned,
  input: LoadInput,
  tokensMax: number,
) {
  const file = await openAs({ means, signal }, found, input);
  try {
    const { documents, columns, refused, isAll, failure, warnings, separator } = await sampleOf(
      { client, signal },
      { file, target },
      { ...input, on_error: 'skip' },
    );
    const [first] = refused;
    const id = input.id_field ?? '_id';
    return {
      file: found.name,
      format: file.format,
      ...readAs({ ...file, separator }),
      collection: tableOf(target),
      ...(target.isMissing ? { would_be_created: true } : { documents_before: target.before }),
      looked_at: lookedAt(documents.length + refused.length, isAll),
      fields: fieldsText(columns, tokensMax),
      ...tableIn(documents.slice(0, ROWS), tokensMax),
      ...(first === undefined
        ? {}
        : {
            refused: refused.length,
            first_refused: { [file.unit]: first.at, error: cutText(first.error, ERROR_CHARS_MAX) },
          }),
      ...(failure === null ? {} : { error: cutText(failure, ERROR_CHARS_MAX) }),
      ...(documents.some((document) => !Object.hasOwn(document, id)) ? { without_id: true } : {}),
      ...(warnings.length > 0 ? { warnings } : {}),
    };
  } finally {
    await file.close();
  }
}

/** What a preview has seen: what is wrong with the rest, it cannot know. */
function lookedAt(entries: number, isAll: boolean): string {
  return isAll
    ? `all ${counted(entries, 'entries')}`
    : `only the first ${counted(entries, 'entries')}; later ones may be refused`;
}

const FIELDS_CHARS_MAX = 500;

/** Throws `invalid_input` if none of the first documents has the field that an argument names. */
function requireField(documents: readonly JsonObject[], field: string | undefined, argument: string): void {
  const [document] = documents;
  if (field === undefined || document === undefined || documents.some((one) => Object.hasOwn(one, field))) return;
  const among = documents.length === 1 ? 'The first document' : `None of the first ${documents.length} documents`;
  const has = documents.length === 1 ? 'does not have' : 'has';
  const fields = Object.keys(document).map((key) => JSON.stringify(key));
  throw new ApiError(
    'invalid_input',
    `${among} ${has} the field ${JSON.stringify(field)} that "${argument}" names. Fields of the first one: ${cutText(fields.join(', '), FIELDS_CHARS_MAX)}.`,
  );
}

/** Documents as a table of their fields at the top; as many as there is room for. */
function tableIn(documents: readonly JsonObject[], tokensMax: number): { columns?: unknown; rows?: unknown } {
  const columns = [...new Set(documents.flatMap((document) => Object.keys(document)))].slice(0, COLUMNS_MAX);
  if (columns.length === 0) return {};
  const room = new Room({ bytesMax: 8_000, tokensMax });
  const rows: JsonValue[][] = [];
  for (const document of documents) {
    const row = columns.map((column) => cellOf(Object.hasOwn(document, column) ? (document[column] ?? null) : null));
    if (!room.take(stringifyJson(row)) && rows.length > 0) break;
    rows.push(row);
  }
  return { columns: visibleValue(columns), rows: visibleValue(rows) };
}

function cellOf(value: JsonValue): JsonValue {
  if (typeof value === 'string') return cutText(value, CELL_CHARS_MAX);
  if (typeof value !== 'object' || value === null) return value;
  const text = stringifyJson(value);
  return text.length <= CELL_CHARS_MAX ? value : cutText(text, CELL_CHARS_MAX);
}
