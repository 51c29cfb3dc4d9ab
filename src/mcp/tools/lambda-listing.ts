import * as z from 'zod';
import { stringifyJson } from '../../contract/json/json.ts';
import type { QueryLambdaVersion } from '../../contract/lambdas.ts';
import { cut } from '../../contract/text.ts';
import { visibleText } from '../../contract/visible.ts';
import { lineText } from '../fence.ts';
import { RESULT_VIEW_META } from '../result-view.ts';
import { type Argument, annotationsOf, ROWS_FIELDS, type ToolListing } from './catalog.ts';
import { declaredAs, isRequired } from './lambda-lookup.ts';
import { answerSchema, type Schema } from './schemas.ts';

/** What authors of lambdas wrote is data of others, in a place that models trust: it is short, quoted and on one line. */
const DESCRIPTION_CHARS_MAX = 300;
const NAME_CHARS_MAX = 100;
const DEFAULT_CHARS_MAX = 60;
const COLUMN_CHARS_MAX = 40;
const COLUMNS_CHARS_MAX = 200;

/** An argument of the tool of a lambda: `parameter` is its name in the SQL. */
export interface LambdaArgument extends Argument {
  parameter: string;
  listed: Schema;
}

/** Of the fields of an answer with rows those that a program needs of any; each is listed with every lambda. */
const LISTED_ROWS = (({ columns, rows, truncated }) => ({ columns, rows, truncated }))(ROWS_FIELDS);

interface Kind {
  type: string;
  /** What values look like, beyond their type. */
  form?: string;
}

const KINDS: Readonly<Record<string, Kind>> = {
  string: { type: 'string', form: 'Text' },
  int: { type: 'integer', form: 'Integer' },
  float: { type: 'number', form: 'Number' },
  bool: { type: 'boolean', form: 'True or false' },
  date: { type: 'string', form: 'YYYY-MM-DD' },
  time: { type: 'string', form: 'HH:MM:SS' },
  datetime: { type: 'string', form: 'YYYY-MM-DDTHH:MM:SS' },
  timestamp: { type: 'string', form: 'ISO 8601, such as 2026-01-31T12:00:00Z' },
  array: { type: 'array', form: 'List' },
  object: { type: 'object', form: 'JSON object' },
};
const ANY: Kind = { type: 'string', form: 'Text, number or boolean' };

/** The type that a parameter is declared with, or else that of its default. */
function kindOf(type: string | undefined, value: unknown): Kind {
  const known = type === undefined ? undefined : KINDS[type];
  if (known !== undefined) return known;
  if (Array.isArray(value)) return KINDS['array'] ?? ANY;
  if (typeof value === 'number' || typeof value === 'bigint') return KINDS['float'] ?? ANY;
  if (typeof value === 'boolean') return KINDS['bool'] ?? ANY;
  return (typeof value === 'object' && value !== null ? KINDS['object'] : undefined) ?? ANY;
}

/** The type of the items of a list, if those of its default have one type; else text. */
function itemsOf(value: unknown): Schema {
  const types = new Set(Array.isArray(value) ? value.map((item: unknown) => typeof item) : []);
  const [only] = types.size === 1 ? types : [];
  return { type: only === 'number' || only === 'boolean' ? only : 'string' };
}

/**
 * The arguments for the parameters of a lambda's SQL, each of one type and described. `names`: as what they are listed.
 *
 * Of a value only this is checked here, that it is there: the service knows the type of the version that it runs.
 */
export function lambdaArguments(
  { sql }: QueryLambdaVersion,
  parameters: readonly string[],
  names: readonly string[],
): LambdaArgument[] {
  return parameters.map((parameter, index) => {
    const name = names[index] ?? '';
    const defaults = sql?.default_parameters ?? [];
    const declared = declaredAs(defaults, parameter);
    const kind = kindOf(declared?.type || undefined, declared?.value);
    const isOptional = !isRequired(defaults, parameter);
    const value = declared?.value ?? null;
    const parts = [
      kind.form,
      ...(name === parameter ? [] : [`:${lineText(parameter, NAME_CHARS_MAX)} of the SQL`]),
      ...(isOptional ? [`default ${cut(visibleText(stringifyJson(value)), DEFAULT_CHARS_MAX)}`] : []),
    ];
    const listed: Schema = {
      type: kind.type,
      ...(kind.type === 'array' ? { items: itemsOf(value) } : {}),
      description: parts.join('; '),
    };
    const given = z.custom<unknown>(
      (sent) => sent !== undefined && sent !== null && (sent !== '' || kind.type === 'string'),
      'a value is required',
    );
    const schema = isOptional ? given.optional() : given;
    return { name, field: name, into: undefined, schema, parameter, listed };
  });
}

/** The tool of a lambda as it is listed. `columns`: those of its rows, if they are known. */
export function lambdaListing(
  name: string,
  { workspace, name: lambda, description }: QueryLambdaVersion,
  args: readonly LambdaArgument[],
  columns: readonly string[] | undefined,
): ToolListing {
  const title = lineText(`${workspace}.${lambda}`, NAME_CHARS_MAX);
  const said = lineText(description ?? '', DESCRIPTION_CHARS_MAX);
  const required = args.filter(({ schema }) => !schema.safeParse(undefined).success).map((one) => one.name);
  return {
    name,
    title,
    description: `Run the stored query ${title}.${said === '' ? '' : ` Its author says: ${JSON.stringify(said)}`}`,
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(args.map((one) => [one.name, one.listed])),
      ...(required.length > 0 ? { required } : {}),
      additionalProperties: false,
    },
    outputSchema: answerSchema({ ...LISTED_ROWS, ...(columns === undefined ? {} : { rows: rowsOf(columns) }) }),
    annotations: annotationsOf('read'),
    _meta: RESULT_VIEW_META,
  };
}

/**
 * What each row is a list of. In words: a schema of its items would be a tuple, which providers refuse, and would fail
 * once the tag is moved to a version with other columns.
 */
function rowsOf(columns: readonly string[]): Schema {
  const shown = columns.slice(0, COLUMNS_CHARS_MAX).map((text) => lineText(text, COLUMN_CHARS_MAX));
  return { type: 'array', description: `Lists of: ${cut(shown.join(', '), COLUMNS_CHARS_MAX)}` };
}
