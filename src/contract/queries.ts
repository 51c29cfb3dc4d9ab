import * as z from 'zod';
import { AnyObject, Json, resource } from './fields.ts';
import type { Contract } from './row.ts';

/** Parameter types; an empty or absent type lets the engine decide from the value. */
export const PARAMETER_TYPES = [
  '',
  'string',
  'int',
  'float',
  'bool',
  'date',
  'datetime',
  'time',
  'timestamp',
  'array',
  'object',
  'null',
] as const;

/** As `QueryParameter`, in lists of tools that have another tool which describes it. */
export const PlainParameter = z.object({
  name: z.string().min(1),
  type: z.enum(PARAMETER_TYPES).optional(),
  value: Json.optional(),
});
export const QueryParameter = PlainParameter.extend({
  type: PlainParameter.shape.type.describe('int, date, …; default: by value'),
  value: PlainParameter.shape.value.describe('JSON, or its text'),
});
export type QueryParameter = z.infer<typeof QueryParameter>;

export const SqlBody = z.object({
  query: z.string().min(1).describe('One SQL statement that reads; parameters are :name'),
  parameters: z.array(QueryParameter).optional().describe('Values of :name parameters'),
  default_row_limit: z.int().min(1).optional().describe('If the SQL has no LIMIT'),
  generate_warnings: z.boolean().optional(),
});
export type SqlBody = z.infer<typeof SqlBody>;

/** Result of a query (docs/api.md, QueryResponse). */
export const QueryResponse = resource({
  query_id: z.string().describe('Unique id of the query'),
  collections: z.array(z.string()).describe('Collections queried, as workspace.collection'),
  aliases: z.array(z.string()).describe('Aliases queried, as workspace.alias'),
  column_fields: z
    .array(resource({ name: z.string(), type: z.string() }))
    .describe('Columns, in order, with SQL types'),
  results: z.array(AnyObject).describe('Rows returned'),
  stats: resource({
    elapsed_time_ms: z.number().describe('Time spent, in milliseconds'),
    throttled_time_micros: z.number().describe('Time spent waiting in the queue, in microseconds'),
  }),
  warnings: z.array(Json).describe('Warnings about the query'),
  query_errors: z
    .array(resource({ type: z.string(), message: z.string(), status_code: z.number() }))
    .describe('Errors met while rows were already flowing; a result cut at a limit of the service is one'),
  status: z.string().describe('COMPLETED'),
  query_lambda_path: z.string().describe('For a Query Lambda: workspace.name::version'),
});
export type QueryResponse = z.infer<typeof QueryResponse>;

export const ValidationResult = resource({
  collections: z.array(z.string()).describe('Collections the SQL names'),
  aliases: z.array(z.string()).describe('Aliases the SQL names'),
  views: z.array(z.string()),
  name: z.array(z.string()).describe('Collections and aliases together'),
  parameters: z.array(z.string()).describe('Names of the parameters the SQL uses'),
  warnings: z.array(z.string()).describe('Those of a query that its SQL tells; absent where there is nothing to say'),
});
export type ValidationResult = z.infer<typeof ValidationResult>;

export const queries = {
  runQuery: {
    number: 1,
    method: 'POST',
    path: '/v1/orgs/self/queries',
    title: 'Run a SQL query',
    summary: 'Run one read-only SQL statement over collections and get its rows. Dialect: colloquy://docs/sql',
    effect: 'read',
    role: 'read-only',
    body: z.object({ sql: SqlBody.describe('The statement and its parameters') }),
    result: QueryResponse,
    isBare: true,
  },
  validateQuery: {
    number: 2,
    method: 'POST',
    path: '/v1/orgs/self/queries/validations',
    title: 'Validate a SQL query',
    summary: 'Check a SQL statement without running it; lists the collections, aliases and parameters it uses.',
    effect: 'read',
    role: 'read-only',
    query: z.object({
      parameters: z.boolean().optional().describe('List its parameters; they need no values'),
    }),
    body: z.object({ sql: SqlBody.describe('The statement and its parameters') }),
    result: ValidationResult,
    isBare: true,
  },
} as const satisfies Contract;
