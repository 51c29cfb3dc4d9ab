// What has to be seen through a client library, whatever it is and over whatever transport. Each judge gets what a driver
// reports of a check, and returns what is wrong with it, or undefined.
import { isDeepStrictEqual } from 'node:util';

/** What a driver reports of a call: the text that a model is told, and what a program is given. Either may be missing. */
const told = ({ text, structured }) => `${text ?? ''} ${structured == null ? '' : JSON.stringify(structured)}`;
/** Of a result a model sees its JSON or its table. Libraries wrap text: as JSON, as a Python literal, with escapes. */
const plain = (answer) => told(answer).replace(/\\n|[\\\s"']/g, '');

const wants = (answer, pattern) =>
  pattern.test(plain(answer)) ? undefined : `expected ${pattern} in ${told(answer).slice(0, 1_000)}`;

function sameNames(found, expected) {
  const missing = expected.filter((name) => !found.includes(name));
  const further = found.filter((name) => !expected.includes(name));
  if (missing.length + further.length === 0) return undefined;
  return `missing: ${missing.join(', ') || 'none'}; not ours: ${further.join(', ') || 'none'}`;
}

/** Wrong if an argument is missing, without a type, or is not required as it was. */
function sameArguments(form, { name, inputSchema }) {
  const { properties = {}, required = [], strict } = form;
  const wrong = sameNames(Object.keys(properties), Object.keys(inputSchema.properties ?? {}));
  if (wrong !== undefined) return `${name}: ${wrong}`;
  for (const [argument, schema] of Object.entries(properties)) {
    const isTyped = ['type', 'anyOf', 'any_of', '$ref'].some((key) => schema[key] != null);
    if (!isTyped) return `${name}: ${argument} has no type in ${JSON.stringify(schema)}`;
  }
  // In strict mode everything is required, and what is optional may be null.
  const needed = (inputSchema.required ?? []).filter((argument) => !(required ?? []).includes(argument));
  if (needed.length > 0) return `${name}: ${needed} should be required`;
  const open = strict === true ? openPart(form) : undefined;
  return open === undefined ? undefined : `${name}: not strict: ${JSON.stringify(open)}`;
}

/** The first part of a schema that strict mode refuses: an object that is open, or whose fields may be missing. */
function openPart(schema) {
  const { properties = {}, required = [], items, additionalProperties } = schema;
  const isClosed = additionalProperties === false && Object.keys(properties).every((key) => required.includes(key));
  if (schema.type === 'object' && !isClosed) return schema;
  const inner = [...Object.values(properties), ...(items === undefined ? [] : [items])];
  return inner.map(openPart).find((part) => part !== undefined);
}

/** `tools`: as they were listed without the library. */
export const JUDGES = {
  list: ({ names }, { tools }) =>
    sameNames(
      names,
      tools.map(({ name }) => name),
    ),
  convert: ({ forms }, { tools }) =>
    sameNames(
      Object.keys(forms),
      tools.map(({ name }) => name),
    ) ?? tools.map((tool) => sameArguments(forms[tool.name], tool)).find((wrong) => wrong !== undefined),
  query: (answer) => {
    const { structured, isError } = answer;
    if (isError) return `an error: ${told(answer)}`;
    const rows = [
      ['o118', 118],
      ['o119', 119],
      ['o120', 120],
    ];
    if (structured?.rows !== undefined && !isDeepStrictEqual(structured.rows, rows)) return JSON.stringify(structured);
    return wants(answer, /rows:\[\[o118,118\],\[o119,119\],\[o120,120\]\]|nBIGINTo118,118o119,119o120,120\(3\)/);
  },
  typed: ({ large, issued }) => {
    const lost = [
      'query_id',
      'columns',
      'types',
      'rows',
      'returned',
      'total',
      'truncated',
      'profile',
      'warnings',
      'next',
    ]
      .filter((key) => large[key] == null)
      .concat(['name', 'state', 'kept_in', 'next'].filter((key) => issued[key] == null));
    return lost.length === 0 ? undefined : `lost: ${lost.join(', ')}; left: ${JSON.stringify({ issued, large })}`;
  },
  page: (answer) =>
    wants(answer, /rows:\[\[o051,52\],\[o052,53\],\[o053,54\]\]|moreBIGINTo051,52o052,53o053,54\(50to52of121\)/),
  error: (answer) =>
    wants(
      answer,
      /Collectionorderdoesnotexistinworkspace\w+(?:\.Didyoumean\w+\.orders\?|.*Corrected,valid,notrun:SELECT\*FROM\w+\.orders)/,
    ),
  resource: (answer) => wants(answer, /collection:\w+\.orders.*strays/),
  prompt: (answer) => wants(answer, /describe_collection/),
  /** Nothing is deleted, and the answer says how a human approves; once one has, the same call deletes. */
  unasked: async ({ first, second }, { hasCollection }) =>
    wants(first, /Nothingwaschanged.*colloquy.*approve/) ??
    wants(second, /status:DELETED|Deletedacollection:/) ??
    ((await hasCollection('unasked')) ? 'it was not deleted' : undefined),
  declined: async (answer, { hasCollection }) =>
    (answer.questions.length === 1 ? undefined : `asked ${answer.questions.length} times`) ??
    wants(answer, /Nothingwaschanged:thehumandeclined/) ??
    ((await hasCollection('declined')) ? undefined : 'it was deleted'),
  accepted: async (answer, { hasCollection }) =>
    (/documents? in it will be gone/.test(answer.questions[0]) ? undefined : `asked ${answer.questions}`) ??
    wants(answer, /status:DELETED|Deletedacollection:/) ??
    ((await hasCollection('accepted')) ? 'it was not deleted' : undefined),
};
