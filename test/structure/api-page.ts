import { z } from 'zod';
import * as aliasFile from '../../src/contract/aliases.ts';
import * as allowlistFile from '../../src/contract/allowlist.ts';
import * as apiKeyFile from '../../src/contract/api-keys.ts';
import * as collectionFile from '../../src/contract/collections.ts';
import { type Noun, nouns } from '../../src/contract/contract.ts';
import * as documentFile from '../../src/contract/documents.ts';
import { ERRORS } from '../../src/contract/errors.ts';
import * as integrationFile from '../../src/contract/integrations.ts';
import * as lambdaFile from '../../src/contract/lambdas.ts';
import * as organizationFile from '../../src/contract/organization.ts';
import * as queryFile from '../../src/contract/queries.ts';
import type { Row } from '../../src/contract/row.ts';
import * as sourceFile from '../../src/contract/sources.ts';
import * as userFile from '../../src/contract/users.ts';
import * as instanceFile from '../../src/contract/virtual-instances.ts';
import * as workspaceFile from '../../src/contract/workspaces.ts';

const TITLES: Record<Noun, string> = {
  queries: 'Queries',
  documents: 'Documents',
  apiKeys: 'API keys',
  aliases: 'Aliases',
  collections: 'Collections',
  allowlist: 'IP allowlist',
  integrations: 'Integrations',
  organization: 'Organization',
  lambdas: 'Query lambdas',
  users: 'Users',
  virtualInstances: 'Virtual instances',
  workspaces: 'Workspaces',
};

/** The exported objects of the contract, by their schemas: the page describes each once. */
const NAMES = new Map<z.ZodObject, string>(
  [
    queryFile,
    documentFile,
    workspaceFile,
    collectionFile,
    sourceFile,
    aliasFile,
    integrationFile,
    lambdaFile,
    apiKeyFile,
    userFile,
    allowlistFile,
    instanceFile,
    organizationFile,
  ].flatMap((file) =>
    Object.entries(file).flatMap(([name, value]): [z.ZodObject, string][] =>
      value instanceof z.ZodObject && /^[A-Z]/.test(name) ? [[value, name]] : [],
    ),
  ),
);

const HEAD = `# The API

Generated from \`src/contract\`: \`UPDATE_README=1 npx vitest run test/structure\`.

Every request carries an API key in the header \`Authorization: ApiKey <key>\`, and \`Content-Type: application/json\` if it
has a body. Parameters of the query string are also accepted in the body. What a request says beyond this page is
refused, but for what [clients of the hosted service](coming-from.md#what-differs) say in vain. Unless noted, the answer is
\`{"data": …}\`. All fields of an answer may be null. A key of one role may do what the roles before it may: \`read-only\`,
\`member\`, \`admin\`. A new name has letters, digits, \`-\` and \`_\`, at most 128, and does not begin with \`_\`.
`;

interface Unwrapped {
  schema: z.ZodType;
  isOptional: boolean;
  byDefault: unknown;
  description: string | undefined;
}

/** A schema without what says that it may be absent or null. */
function unwrapped(given: z.ZodType): Unwrapped {
  let [schema, isOptional, byDefault, description]: [z.ZodType, boolean, unknown, string | undefined] = [
    given,
    false,
    undefined,
    given.description,
  ];
  for (;;) {
    if (schema instanceof z.ZodDefault) byDefault = schema.def.defaultValue;
    if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable) {
      isOptional ||= !(schema instanceof z.ZodNullable);
      schema = schema.def.innerType as z.ZodType;
    } else if (schema instanceof z.ZodPipe) schema = schema.def.in as z.ZodType;
    else return { schema, isOptional, byDefault, description };
    description ??= schema.description;
  }
}

const linkTo = (name: string) => `[${name}](#${name.toLowerCase()})`;

function typeOf(given: z.ZodType): string {
  const { schema } = unwrapped(given);
  if (schema instanceof z.ZodArray) return `list of ${typeOf(schema.def.element as z.ZodType)}`;
  if (schema instanceof z.ZodObject) return NAMES.has(schema) ? linkTo(NAMES.get(schema) ?? '') : 'object';
  if (schema instanceof z.ZodEnum) return schema.options.map((option) => `\`${option}\``).join(', ');
  if (schema instanceof z.ZodLiteral) return [...schema.values].map((value) => `\`${value}\``).join(', ');
  if (schema instanceof z.ZodUnion)
    return [...new Set(schema.options.map((one) => typeOf(one as z.ZodType)))].join(' or ');
  if (schema instanceof z.ZodNumber) return schema.format === 'safeint' ? 'integer' : 'number';
  if (schema instanceof z.ZodString || schema instanceof z.ZodStringFormat) return 'text';
  if (schema instanceof z.ZodBoolean) return 'boolean';
  if (schema instanceof z.ZodRecord) return 'object';
  return 'any';
}

/** The objects in a type that have no name of their own, whose fields are listed in its place. */
function inner(given: z.ZodType): z.ZodObject | undefined {
  const { schema } = unwrapped(given);
  if (schema instanceof z.ZodArray) return inner(schema.def.element as z.ZodType);
  return schema instanceof z.ZodObject && !NAMES.has(schema) ? schema : undefined;
}

const escaped = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

function rowsOf(fields: z.ZodObject, where: string | undefined, prefix = ''): string[] {
  return Object.entries(fields.shape as Record<string, z.ZodType>).flatMap(([name, given]) => {
    const { isOptional, byDefault, description } = unwrapped(given);
    const path = `${prefix}${name}`;
    const isList = unwrapped(given).schema instanceof z.ZodArray;
    const need = byDefault !== undefined ? `default \`${JSON.stringify(byDefault)}\`` : isOptional ? '' : 'yes';
    const cells = [`\`${path}\``, ...(where === undefined ? [] : [where]), typeOf(given)];
    if (where !== undefined) cells.push(need);
    const object = inner(given);
    const more = object === undefined ? [] : rowsOf(object, where, `${path}${isList ? '[]' : ''}.`);
    return [`| ${[...cells, escaped(description ?? '')].join(' | ')} |`, ...more];
  });
}

function parametersOf({ params, query, body }: Row): string[] {
  const parts: [z.ZodObject | undefined, string][] = [
    [params, 'path'],
    [query, 'query'],
    [body, 'body'],
  ];
  const rows = parts.flatMap(([fields, where]) => (fields === undefined ? [] : rowsOf(fields, where)));
  if (rows.length === 0) return [];
  return ['| parameter | in | type | required | |', '|---|---|---|---|---|', ...rows, ''];
}

function resultOf({ result, isBare }: Row): string[] {
  const object = inner(result);
  const bare = isBare === true ? ' The answer is not in `data`.' : '';
  const type = typeOf(result);
  if (object === undefined) return [`Returns ${type === 'any' ? 'a value' : type}.${bare}`, ''];
  return [`Returns ${type}:${bare}`, '', '| field | type | |', '|---|---|---|', ...rowsOf(object, undefined), ''];
}

function sectionOf([operation, row]: [string, Row]): string[] {
  const { number, title, method, path, summary, effect, role } = row;
  return [
    `### ${number}. ${title}`,
    '',
    `\`${method} ${path}\` · \`${operation}\` · ${effect} · ${role}`,
    '',
    summary,
    '',
    ...parametersOf(row),
    ...resultOf(row),
  ];
}

function objectsPart(): string[] {
  return [
    '## Objects',
    '',
    ...[...NAMES].flatMap(([schema, name]) => [
      `### ${name}`,
      '',
      '| field | type | |',
      '|---|---|---|',
      ...rowsOf(schema, undefined),
      '',
    ]),
  ];
}

function errorsPart(): string[] {
  const sent = Object.entries(ERRORS).filter(([, { status }]) => status !== undefined);
  return [
    '## Errors',
    '',
    'The body of an error has `message`, `type`, and, where they are known, `message_key`, `line`, `column`, `trace_id`,',
    '`error_id`, `query_id` and `corrected_sql`: what was probably meant by SQL that fails, checked and not run.',
    '',
    '| status | type |',
    '|---|---|',
    ...sent.map(([, { status, type }]) => `| ${status} | \`${type}\` |`),
  ];
}

/** `docs/api.md`. */
export function apiPage(): string {
  const parts = (Object.entries(nouns) as [Noun, Record<string, Row>][]).flatMap(([noun, rows]) => [
    `## ${TITLES[noun]}`,
    '',
    ...Object.entries(rows).flatMap(sectionOf),
  ]);
  return `${[HEAD, ...parts, ...objectsPart(), ...errorsPart()].join('\n').trimEnd()}\n`;
}
