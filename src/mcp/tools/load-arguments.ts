import * as z from 'zod';
import { type ColumnTypes, readColumnTypes } from '../../contract/column-types.ts';
import { contract } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import { isObject } from '../../contract/json/json.ts';
import { cut } from '../../contract/text.ts';
import { structureIn } from './arguments.ts';
import { FILE_FORMATS, type FileFormat, type FoundFile } from './file.ts';
import type { Understood } from './hand-tool.ts';
import type { Arguments } from './relations.ts';

/** What `load_file` takes, under which names. */

/** The arguments of `load_file`. */
export interface LoadInput {
  /** Files, folders and patterns; a text may be a list of them as JSON. */
  path: string | readonly string[];
  /** Default: commons. */
  workspace?: string;
  /** Absent: each file has one of its own, named after it. */
  collection?: string;
  format?: FileFormat;
  /** Whether a missing collection, and workspace, is created; default true. */
  create_collection?: boolean;
  id_field?: string;
  /** A field that gets the name of the file, below the folder that the operator allows. */
  file_field?: string;
  /** The event time of a collection that is created. */
  event_time?: EventTime;
  /** Of the cells of CSV and xlsx; default infer. */
  types?: ColumnTypes;
  /** Answer what would be loaded, and write nothing. */
  dry_run?: boolean;
  /** Whether the load goes on after an entry that is refused, and after a file that others of its collection follow; default stop. */
  on_error?: 'stop' | 'skip';
  /** The name of the file to begin with, of several. */
  from?: string;
  skip?: number;
  format_params?: FormatParams;
}

const EventTime = z.strictObject({
  field: z.string().min(1),
  format: z.string().min(1).optional(),
  time_zone: z.string().min(1).optional(),
});
/** As `event_time_info` of a collection. */
export type EventTime = z.output<typeof EventTime>;

/** Listed as a text: the refusal of another one names all. */
const format = z.string().refine((name): name is FileFormat => (FILE_FORMATS as readonly string[]).includes(name), {
  error: `expected one of ${FILE_FORMATS.join(', ')}`,
});

const text = z.string().min(1).optional();
const texts = z.array(z.string().min(1)).min(1).optional();

/** How files of single formats are read: the fields of `csv` and `xml` in `format_params` of a source, and three more. */
const FormatParams = z
  .object({
    separator: text,
    header_row: z.int().min(1).optional(),
    columnNames: texts,
    list_path: text,
    doc_tag: text,
    root_tag: text,
    sheet: text,
    quoteChar: text,
    escapeChar: text,
    encoding: text,
    value_tag: text,
    attribute_prefix: text,
    columnTypes: texts,
    firstLineAsColumnNames: z.boolean().optional(),
  })
  // Listed without its fields: all of them would cost every conversation more than they are worth to it.
  .meta({ properties: {}, description: 'separator, header_row, columnNames, list_path, doc_tag, sheet, …' });
export type FormatParams = z.output<typeof FormatParams>;

const eventTime = z.unknown().transform((given, context): EventTime => {
  const object = typeof given === 'string' ? (structureIn(given) ?? { field: given }) : given;
  const { data } = EventTime.safeParse(object);
  if (data !== undefined) return data;
  context.addIssue('expected the name of a field, or an object with "field" and, if needed, "format" and "time_zone"');
  return z.NEVER;
});

const types = z.unknown().transform((given, context): ColumnTypes => {
  const read = readColumnTypes(given);
  if ('types' in read) return read.types;
  context.addIssue(read.problem);
  return z.NEVER;
});

export function loadShape() {
  const { workspace, collection } = contract.getCollection.params.shape;
  return {
    path: z
      .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
      .describe('File, folder, pattern (in/**/*.csv), https URL, or JSON list'),
    workspace: workspace.optional().describe('Default commons'),
    collection: collection.optional().describe('Default: as the file'),
    format: format.optional().describe('Default: by name'),
    create_collection: z.boolean().optional(),
    id_field: z.string().min(1).optional(),
    file_field: z.string().min(1).optional(),
    event_time: eventTime.optional().describe('Field, or {field, format, time_zone}'),
    types: types.optional().describe('infer, text, or {column: INTEGER, …}'),
    format_params: FormatParams.optional(),
    dry_run: z.boolean().optional(),
    on_error: z.enum(['stop', 'skip']).optional(),
    from: z.string().min(1).optional().describe('File to begin with'),
    skip: z.int().min(0).optional().describe('Entries to leave out'),
  };
}

const WITHIN = 'format_params';
/** Names of arguments that stood by themselves once, and of what models send in their place. */
const MOVED: Readonly<Record<string, keyof FormatParams>> = {
  csv_separator: 'separator',
  delimiter: 'separator',
  csv_columns: 'columnNames',
  csv_types: 'columnTypes',
};
const FIELDS: ReadonlySet<string> = new Set(Object.keys(FormatParams.shape));
/** Objects in which the API has some of the fields. */
const GROUPS = ['csv', 'xml', 'json', 'xlsx'];
const NAME_CHARS = 100;

/**
 * What was sent, under the names that are listed: fields of `format_params` may stand by themselves, or in it as the API
 * has them. A name whose place is taken stays, to be refused.
 */
export function underListedNames(sent: Arguments): Understood {
  const asGiven = sent[WITHIN];
  const whole = typeof asGiven === 'string' ? structureIn(asGiven) : asGiven;
  const params = isObject(whole) ? paramsIn(whole) : {};
  const rest: Record<string, unknown> = {};
  const renamed: string[] = [];
  for (const [name, value] of Object.entries(sent)) {
    if (name === WITHIN && isObject(whole)) continue;
    const listed = listedFor(name, value);
    const field = FIELDS.has(name) ? name : Object.hasOwn(MOVED, name) ? MOVED[name] : undefined;
    if (listed !== undefined && !Object.hasOwn(sent, listed)) {
      rest[listed] = value;
      renamed.push(`"${name}" is "${listed}"`);
    } else if (field === undefined || Object.hasOwn(params, field)) rest[name] = value;
    else if (!isEmpty(value)) {
      params[field] = value;
      renamed.push(`"${name}" is "${field}" in "${WITHIN}"`);
    }
  }
  const meant = Object.entries(params).filter(([, value]) => !isEmpty(value));
  return { listed: meant.length === 0 ? rest : { ...rest, [WITHIN]: Object.fromEntries(meant) }, renamed };
}

/** The fields of `format_params`, of which some may be in the groups that the API has. Throws for one with two values. */
function paramsIn(whole: object): Record<string, unknown> {
  const params = new Map<string, unknown>();
  for (const [name, value] of Object.entries(whole)) {
    const isGroup = GROUPS.includes(name);
    if (isGroup && value === true) continue;
    for (const [field, one] of isGroup && isObject(value) ? Object.entries(value) : [[name, value] as const]) {
      if (params.has(field) && JSON.stringify(params.get(field)) !== JSON.stringify(one)) {
        throw new ApiError('invalid_input', `"${cut(field, NAME_CHARS)}" is in "${WITHIN}" twice, with two values.`);
      }
      params.set(field, one);
    }
  }
  return Object.fromEntries(params);
}

/** The argument of its own that one under another name is. */
function listedFor(name: string, value: unknown): 'event_time' | 'types' | undefined {
  if (name === 'event_time_info') return 'event_time';
  return name === 'csv_types' && !Array.isArray(typeof value === 'string' ? structureIn(value) : value)
    ? 'types'
    : undefined;
}

/** The formats that have a use for a field of `format_params`. */
const USED_BY: Readonly<Record<keyof FormatParams, FileFormat | readonly FileFormat[]>> = {
  separator: 'csv',
  header_row: ['csv', 'xlsx'],
  columnNames: 'csv',
  columnTypes: 'csv',
  firstLineAsColumnNames: 'csv',
  quoteChar: 'csv',
  escapeChar: 'csv',
  encoding: 'csv',
  list_path: 'json',
  doc_tag: 'xml',
  root_tag: 'xml',
  value_tag: 'xml',
  attribute_prefix: 'xml',
  sheet: 'xlsx',
};

/** Throws `invalid_input` for a field of `format_params` that none of the files has a use for. */
export function requireUse({ format_params: params = {} }: LoadInput, files: readonly FoundFile[]): void {
  const formats = new Set(files.map(({ format }) => format));
  if (formats.has(undefined)) return;
  for (const name of Object.keys(params) as (keyof FormatParams)[]) {
    const uses = [USED_BY[name]].flat();
    if (uses.some((one) => formats.has(one))) continue;
    const use = uses.join(' or ');
    const are = [...formats].join(', ');
    const what = files.length === 1 ? `the file is ${are}` : `the files are ${are}`;
    throw new ApiError(
      'invalid_input',
      `"${name}" in "${WITHIN}" says how ${use} is read, and ${what}. Leave it out, or give "format".`,
    );
  }
}

/** What models send for what they leave out. */
function isEmpty(value: unknown): boolean {
  return value === null || value === '' || (Array.isArray(value) && value.length === 0);
}
