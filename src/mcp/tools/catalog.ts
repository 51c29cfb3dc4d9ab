import * as z from 'zod';
import { type AnyOperation, allRows, type Noun, nouns, OPERATIONS } from '../../contract/contract.ts';
import type { Effect, Row } from '../../contract/row.ts';
import { holdsSecret, secrecyOf } from '../../contract/secret.ts';
import { sourceControl } from '../../contract/source-control.ts';
import { RESULT_VIEW_META } from '../result-view.ts';
import { answerSchema, inputSchema, outputSchema, type Schema } from './schemas.ts';
import { TOOLSET_OF_NOUN, type Toolset } from './toolsets.ts';

/** How a tool's answer is presented; decided by the shape of the row's result. */
export type ResultKind = 'rows' | 'writes' | 'list' | 'object';

/** One argument of a tool; `into` names the object of the body that it belongs in. */
export interface Argument {
  name: string;
  field: string;
  into: string | undefined;
  schema: z.ZodType;
  /** The field of the objects that the items of this list stand for. */
  itemField?: string | undefined;
  /** A name that is understood, too: the API's own, where that is another. */
  alias?: string | undefined;
}

/** One thing has one name in all tools; the API has several for some. */
const NAMES: Readonly<Record<string, string>> = {
  queryLambda: 'lambda',
  tag_name: 'tag',
  virtualInstanceId: 'virtual_instance',
};

/** The name in all tools of what the API names `name`. */
export function listedName(name: string): string {
  return NAMES[name] ?? name;
}

/** The API's name of an argument that has another one in all tools. */
export function aliasOf(name: string): string | undefined {
  return Object.entries(NAMES).find(([, own]) => own === name)?.[0];
}

/** What is made has the name under which other tools take it. */
const NAMES_OF: Readonly<Partial<Record<AnyOperation, Readonly<Record<string, string>>>>> = {
  createWorkspace: { name: 'workspace' },
  createCollection: { name: 'collection' },
  createAlias: { name: 'alias' },
  createLambda: { name: 'lambda' },
  createIntegration: { name: 'integration' },
  createUser: { email: 'user' },
  validateQuery: { parameters: 'list_parameters', sql_parameters: 'parameters' },
};

export interface Annotations {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/** A tool as listed. A type instead of an interface, since the SDK's own type has an index signature. */
export type ToolListing = {
  name: string;
  title: string;
  description: string;
  inputSchema: Schema & { type: 'object' };
  outputSchema: Schema & { type: 'object' };
  annotations: Annotations;
  /** The view in which a host may show the answer. */
  _meta?: typeof RESULT_VIEW_META;
};

/** A tool computed from a row of the contract. */
export interface RowTool {
  operation: AnyOperation;
  row: Row;
  kind: ResultKind;
  arguments: Argument[];
  listing: ToolListing;
}

/** What an answer with rows holds. */
export const ROWS_FIELDS = {
  query_id: { type: 'string' },
  columns: { type: 'array' },
  types: { type: 'array' },
  rows: { type: 'array' },
  returned: { type: 'integer' },
  total: { type: 'integer' },
  truncated: { type: 'boolean' },
  warnings: { type: 'array' },
  next: { type: 'string' },
} as const satisfies Record<string, Schema>;
const ROWS_OUTPUT = answerSchema(ROWS_FIELDS);
const LIST_OUTPUT = answerSchema({ items: { type: 'array' } });
const WRITES_OUTPUT = answerSchema({ counts: { type: 'object' }, failed: { type: 'array' } });
/** What an answer of a delete begins with: what was done, in one line. */
export const DONE_OUTPUT = { done: { type: 'string' } };

/** The annotations for an effect. `openWorldHint` is always false: every tool acts on this service alone. */
export function annotationsOf(effect: Effect): Annotations {
  return {
    readOnlyHint: effect === 'read',
    destructiveHint: effect === 'update' || effect === 'delete',
    idempotentHint: effect === 'read' || effect === 'delete',
    openWorldHint: false,
  };
}

/** The name of an operation's tool: `listWorkspaces` → `list_workspaces`. */
export function toolName(operation: string): string {
  return operation.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The toolset of an operation: that of its noun. */
export function toolsetOf(operation: AnyOperation): Toolset {
  if (Object.hasOwn(sourceControl, operation)) return 'integrations';
  const noun = (Object.keys(nouns) as Noun[]).find((name) => Object.hasOwn(nouns[name], operation));
  if (noun === undefined) throw new Error(`${operation} belongs to no noun`);
  return TOOLSET_OF_NOUN[noun];
}

/**
 * The arguments of a row as one flat list: path parameters, query-string parameters, body fields.
 *
 * A body whose only field is an object is flattened by one level, so that a query's text is an argument of its own. If
 * an inner field's name is taken already, it is prefixed with the object's name: `parameters` → `sql_parameters`. A list
 * of objects with one field is a list of its values: `data: [{_id}]` → `ids`.
 */
export function argumentsOf(row: Row, names: Readonly<Record<string, string>> = NAMES): Argument[] {
  const found = [row.params, row.query].flatMap((part) => plainArguments(part?.shape ?? {}));
  const body = Object.entries(row.body?.shape ?? {});
  const wrapper = body.length === 1 ? body[0] : undefined;
  const inner = wrapper === undefined ? undefined : objectInside(wrapper[1] as z.ZodType);
  if (wrapper === undefined || inner === undefined) found.push(...plainArguments(Object.fromEntries(body)));
  else {
    const taken = new Set(found.map((argument) => argument.name));
    for (const [field, schema] of Object.entries(inner.object.shape)) {
      const type = schema as z.ZodType;
      found.push({
        name: taken.has(field) ? `${wrapper[0]}_${field}` : field,
        field,
        into: wrapper[0],
        schema: inner.optional ? type.optional() : type,
      });
    }
  }
  return found.map((one) => {
    const name = Object.hasOwn(names, one.name) ? names[one.name] : undefined;
    return name === undefined ? one : { ...one, name, alias: one.name };
  });
}

function plainArguments(fields: Readonly<Record<string, unknown>>): Argument[] {
  return Object.entries(fields).map(([name, schema]) => {
    const type = schema as z.ZodType;
    const item = onlyField(type);
    if (item === undefined) return { name, field: name, into: undefined, schema: type };
    const list = z.array(item.schema).describe(type.description ?? '');
    return {
      name: `${item.name.replace(/^_/, '')}s`,
      field: name,
      into: undefined,
      schema: list,
      itemField: item.name,
    };
  });
}

/** The one field of the objects in a list. */
function onlyField(schema: z.ZodType): { name: string; schema: z.ZodType } | undefined {
  if (!(schema instanceof z.ZodArray) || !(schema.element instanceof z.ZodObject)) return undefined;
  const [only, ...others] = Object.entries(schema.element.shape as Record<string, z.ZodType>);
  return only === undefined || others.length > 0 ? undefined : { name: only[0], schema: only[1] };
}

function objectInside(schema: z.ZodType): { object: z.ZodObject; optional: boolean } | undefined {
  let optional = false;
  let inner: unknown = schema;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable) {
    optional = true;
    inner = inner.unwrap();
  }
  return inner instanceof z.ZodObject ? { object: inner, optional } : undefined;
}

/** How the answer of a row is presented to a model. */
export function resultKindOf(row: Row): ResultKind {
  if (row.result.type === 'array') return 'list';
  const shape = resultShape(row);
  if ('column_fields' in shape && 'results' in shape) return 'rows';
  if ('data' in shape && 'last_offset' in shape) return 'writes';
  return 'object';
}

function resultShape(row: Row): Readonly<Record<string, z.ZodType>> {
  return row.result instanceof z.ZodObject ? (row.result.shape as Record<string, z.ZodType>) : {};
}

function outputOf(kind: ResultKind, row: Row): Schema {
  if (row.effect === 'delete') return answerSchema(DONE_OUTPUT);
  if (kind === 'rows') return ROWS_OUTPUT;
  if (kind === 'list') return LIST_OUTPUT;
  if (kind === 'writes') return WRITES_OUTPUT;
  return outputSchema(resultShape(row));
}

function descriptionOf(row: Row): string {
  if (row.effect === 'delete') return `${row.summary} A human is asked first.`;
  if (
    issuesSecret(row) &&
    row.result instanceof z.ZodObject &&
    Object.values(row.result.shape).some((f) => secrecyOf(f) === 'issued')
  )
    return `${row.summary} It goes into a file for the human, not to you.`;
  return row.summary;
}

/** Whether the answer of a row contains a newly issued secret, which is shown only once. */
export function issuesSecret(row: Row): boolean {
  return holdsSecret(row.result, 'issued');
}

/** Whether a call of such a row will have one: of the integrations only those of Segment have a key of their own. */
export function willIssue({ row, operation }: RowTool, input: Readonly<Record<string, unknown>>): boolean {
  return issuesSecret(row) && (operation !== 'createIntegration' || (input['segment'] ?? null) !== null);
}

export function rowTool(operation: AnyOperation): RowTool {
  const row: Row = allRows[operation];
  const kind = resultKindOf(row);
  const found = argumentsOf(row, { ...NAMES, ...NAMES_OF[operation] });
  const shape = Object.fromEntries(found.map(({ name, schema }) => [name, schema]));
  return {
    operation,
    row,
    kind,
    arguments: found,
    listing: {
      name: toolName(operation),
      title: row.title,
      description: descriptionOf(row),
      inputSchema: { ...inputSchema(shape), type: 'object' },
      outputSchema: { ...outputOf(kind, row), type: 'object' },
      annotations: annotationsOf(row.effect),
      ...(kind === 'rows' ? { _meta: RESULT_VIEW_META } : {}),
    },
  };
}

let computed: ReadonlyMap<string, RowTool> | undefined;

/** The tools of all rows by name, in the contract's order; computed at the first use. */
export function rowTools(): ReadonlyMap<string, RowTool> {
  computed ??= new Map(OPERATIONS.map((operation) => [toolName(operation), rowTool(operation)]));
  return computed;
}
