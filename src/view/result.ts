import { readAnswerText } from './answer-text.ts';
import { recordOf, type ToolResult, textOf } from './bridge.ts';
import { type Kind, kindOf } from './values.ts';

export interface Column {
  name: string;
  /** The service's name for the type. */
  type: string | null;
  kind: Kind;
}

/** A part of a result, as in an answer of `run_query`, of a lambda or of `fetch_result`. */
export interface Part {
  /** The id by which the whole result can be requested; undefined if it is not kept. */
  queryId: string | undefined;
  columns: readonly Column[];
  rows: readonly (readonly unknown[])[];
  /** Number of rows before the first one. */
  offset: number;
  total: number;
  /** There are more rows than `total`. */
  isAtLeast: boolean;
  /** Whether long values are cut, or columns left out. */
  isCut: boolean;
  /** What a person should know about it, in sentences. */
  notes: readonly string[];
}

/** The service's warning about an incomplete answer; the view shows that anyway. */
const CUT_WARNING = /^Only the first \d+ rows are returned/;

/** The part of a result in an answer. Throws, saying what went wrong, if there is none. */
export function partOf(answer: ToolResult): Part {
  const data = structuredOf(answer);
  const error = recordOf(data['error']);
  if (answer.isError === true || textOf(error['message']) !== undefined) {
    throw new Error(textOf(error['message']) ?? textIn(answer) ?? 'The call failed, and the server did not say why.');
  }
  const { columns: names, rows } = data;
  if (!Array.isArray(names) || !Array.isArray(rows)) throw new Error('The answer of the server holds no rows.');
  const types = Array.isArray(data['types']) ? data['types'] : [];
  const tuples = rows.map((row): unknown[] => (Array.isArray(row) ? row : []));
  const atLeast = countOf(data['at_least']);
  return {
    queryId: textOf(data['query_id']),
    columns: names.map((name, index) => {
      const type = textOf(types[index]) ?? null;
      const values = tuples.map((row) => row[index]);
      return { name: String(name), type, kind: kindOf(type, values) };
    }),
    rows: tuples,
    offset: countOf(data['offset']) ?? 0,
    total: atLeast ?? countOf(data['total']) ?? tuples.length,
    isAtLeast: atLeast !== undefined,
    isCut: countOf(data['cells_cut']) !== undefined || countOf(data['columns_cut']) !== undefined,
    notes: notesOf(data),
  };
}

/** The structured content or, for hosts that drop it, the same from the text. */
function structuredOf(answer: ToolResult): Readonly<Record<string, unknown>> {
  if (typeof answer.structuredContent === 'object' && answer.structuredContent !== null) {
    return recordOf(answer.structuredContent);
  }
  return readAnswerText(fencedIn(textIn(answer) ?? '') ?? '');
}

/** The lines between the fence's markers. */
function fencedIn(text: string): string | undefined {
  const [, tag] = /^<(data-\d+)>/.exec(text) ?? [];
  const start = text.indexOf('\n') + 1;
  const end = text.lastIndexOf(`\n</${tag}>`);
  return tag === undefined || start === 0 || end < start ? undefined : text.slice(start, end);
}

function textIn({ content }: ToolResult): string | undefined {
  const blocks = Array.isArray(content) ? content.map(recordOf) : [];
  return textOf(blocks.find(({ type }) => type === 'text')?.['text']);
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function notesOf(data: Readonly<Record<string, unknown>>): string[] {
  const texts = (value: unknown) => (Array.isArray(value) ? value.map(String) : []);
  const columnsCut = countOf(data['columns_cut']);
  return [
    textOf(data['kept']) === undefined ? '' : `The query has more rows; ${data['kept']} are kept.`,
    textOf(data['not_kept']) === undefined ? '' : `The whole result is not kept: ${data['not_kept']}`,
    columnsCut === undefined ? '' : `${columnsCut} more columns are left out: select those you need by name.`,
    countOf(data['cells_cut']) === undefined ? '' : 'Long values are cut, and end in how much is missing.',
    ...texts(data['problems']),
    ...texts(data['warnings']).filter((warning) => !CUT_WARNING.test(warning)),
  ].filter((note) => note !== '');
}
