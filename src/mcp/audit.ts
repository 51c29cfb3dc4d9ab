import type { InputRequiredResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { mapSecrets, secrecyOf } from '../contract/secret.ts';
import { visibleText } from '../contract/visible.ts';
import { cutWithoutKeys } from '../contract/without-keys.ts';
import { type ToolResult, visibleValue } from './fence.ts';
import type { Human, Verdict } from './guard/guard.ts';
import type { KeyOwner } from './key-owner.ts';
import { estimateTokens } from './room.ts';
import { hideable, isReference, withoutTexts } from './secrets.ts';
import { asListed, isAnyJson, structureIn, unwrapped } from './tools/arguments.ts';
import type { Argument } from './tools/catalog.ts';
import type { Arguments } from './tools/relations.ts';
import type { Tool } from './tools/tool.ts';

/** One tool call as the audit log keeps it. Contains no secret and no message. */
export interface AuditRecord {
  /** When the call arrived, ISO-8601 in UTC. */
  time: string;
  /** E-mail of the user whose API key made the call, and the key's name; absent: no service said so. */
  user?: string;
  key?: string;
  principal: string;
  /** What the client calls itself, unchecked. */
  client?: { name: string; version: string };
  transport: string;
  /** The protocol era; absent outside MCP. */
  era?: string;
  tool: string;
  /** Without secrets and unknown arguments; long values are cut. */
  arguments: unknown;
  /** What became of the question to a human: `asked`, `approved`, or why it was refused. */
  guard?: string;
  /** `ok`, `asked` (the call waits for a human), or an error code. */
  outcome: string;
  duration_ms: number;
  /** Size of the text that the model reads. */
  bytes: number;
  tokens: number;
  rows?: number;
}

export interface WantedRecords {
  tool: string | undefined;
  /** As in the record, or `failed`: any but `ok` and `asked`. */
  outcome: string | undefined;
  /** Calls from this moment on, in milliseconds since 1970. */
  sinceMs: number | undefined;
}

/** Whether a line of the audit log is one of those that somebody asks for. */
export function wantedRecords({ tool, outcome, sinceMs }: WantedRecords) {
  return (record: Readonly<Record<string, unknown>>): boolean => {
    if (tool !== undefined && record['tool'] !== tool) return false;
    if (sinceMs !== undefined && !(Date.parse(String(record['time'])) >= sinceMs)) return false;
    const isFine = record['outcome'] === 'ok' || record['outcome'] === 'asked';
    return outcome === undefined || record['outcome'] === outcome || (outcome === 'failed' && !isFine);
  };
}

/** Where a process records its tool calls. */
export interface Audit {
  /** How the client is connected, e.g. `stdio`. */
  transport: string;
  /** May resolve to false: the record could not be written. */
  observe(record: AuditRecord): unknown;
}

export interface Caller {
  principal: string;
  client?: { name?: unknown; version?: unknown } | undefined;
  era?: string | undefined;
}

const NAME_CHARS_MAX = 80;
/** A record is one write, so its line has to be short. */
const ARGUMENTS_BYTES_MAX = 2_500;
/** Limits for long values, tried in order until the arguments fit. */
const LIMITS = [
  { chars: 500, items: 10 },
  { chars: 120, items: 5 },
  { chars: 40, items: 2 },
] as const;
const DEPTH_MAX = 8;
const SECRET = '[secret]';
const REMOVED = '[removed]';
const UNKNOWN = '[unknown]';
const REFERENCE_SHOWN = /^(env:COLLOQUY_SECRET_\w+|file:[\w./@-]+)$/;

/** The record of a call that is still running. */
export interface OpenRecord {
  /** Wraps `human` so that the answers are recorded. */
  watched(human: Human): Human;
  /** Resolves to false if it could not be written. */
  end(result: ToolResult | InputRequiredResult, owner: KeyOwner | undefined): Promise<boolean>;
}

/** Starts the record of a call. */
export function openRecord(tool: Tool, args: Arguments, caller: Caller, audit: Audit): OpenRecord {
  const time = new Date().toISOString();
  const startedAt = performance.now();
  let verdict: Verdict | undefined;
  return {
    watched: (human) => ({
      ...human,
      ask: async (question) => {
        verdict = await human.ask(question);
        return verdict;
      },
    }),
    end: async (result, owner) => {
      const guard = verdict?.kind === 'refused' ? verdict.code : verdict?.kind;
      const written = audit.observe({
        time,
        ...whoCalls(caller, owner, audit),
        tool: tool.listing.name,
        arguments: auditedArguments(tool, args),
        ...(guard === undefined ? {} : { guard }),
        duration_ms: Math.round((performance.now() - startedAt) * 10) / 10,
        ...sizeOf(result),
      });
      return (await written) !== false;
    },
  };
}

/** The record of a call of a tool that is not offered. */
export function refusedCall(
  name: string,
  outcome: string,
  { caller, owner }: { caller: Caller; owner: KeyOwner | undefined },
  audit: Audit,
): AuditRecord {
  return {
    time: new Date().toISOString(),
    ...whoCalls(caller, owner, audit),
    tool: short(name),
    arguments: {},
    outcome,
    duration_ms: 0,
    bytes: 0,
    tokens: 0,
  };
}

function whoCalls({ principal, client, era }: Caller, owner: KeyOwner | undefined, { transport }: Audit) {
  return {
    ...(owner === undefined ? {} : { user: short(owner.user) }),
    ...(owner?.key === undefined ? {} : { key: short(owner.key) }),
    principal: short(principal),
    ...(client === undefined ? {} : { client: { name: short(client.name), version: short(client.version) } }),
    transport,
    ...(era === undefined ? {} : { era }),
  };
}

function short(value: unknown): string {
  return visibleText(cutWithoutKeys(String(value ?? ''), NAME_CHARS_MAX));
}

function sizeOf(result: ToolResult | InputRequiredResult) {
  if (!('structuredContent' in result)) return { outcome: 'asked', bytes: 0, tokens: 0 };
  const { content, structuredContent, isError } = result as ToolResult;
  const text = content.map((part) => ('text' in part ? part.text : '')).join('\n');
  const { returned, error } = structuredContent;
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'failed';
  return {
    outcome: isError === true ? code : 'ok',
    bytes: Buffer.byteLength(text),
    tokens: estimateTokens(text),
    ...(typeof returned === 'number' ? { rows: returned } : {}),
  };
}

/**
 * The arguments as they may be recorded. Of anything unknown to the contract, at any depth, only the name: the value
 * could be anything, even a secret. Free-form values such as documents are recorded as they are.
 */
export function auditedArguments({ arguments: known, secretArguments = [] }: Tool, given: Arguments): unknown {
  const args = asListed(known, given);
  const kept = Object.entries(args).map(([name, value]) => {
    const argument = known.find((one) => one.name === name);
    if (argument === undefined) return [short(name), UNKNOWN] as const;
    // A wrong plain value explains why the call failed.
    const isPlain = !secretArguments.includes(argument) && isScalar(argument.schema) && typeof value !== 'object';
    return [name, isPlain ? value : withoutSecrets(argument.schema, value)] as const;
  });
  const secrets = givenSecrets(secretArguments, args);
  const whole = secrets.length === 0 ? Object.fromEntries(kept) : withoutTexts(Object.fromEntries(kept), secrets);
  for (const limits of LIMITS) {
    // Cut before escaping: a write may have megabytes.
    const cut = visibleValue(cutValue(whole, limits, 0));
    if (Buffer.byteLength(JSON.stringify(cut)) <= ARGUMENTS_BYTES_MAX) return cut;
  }
  return Object.fromEntries(kept.slice(0, 20).map(([name]) => [short(name), '…']));
}

/** The secrets among the arguments, which may have been put elsewhere as well. */
function givenSecrets(secretArguments: readonly Argument[], args: Arguments): string[] {
  const found: string[] = [];
  for (const { name, schema } of secretArguments) {
    mapSecrets(schema, args[name], 'given', (secret) => {
      if (!isReference(secret)) found.push(...hideable(secret));
      return secret;
    });
  }
  return found;
}

/** The value without anything that is a secret or may be one. */
function withoutSecrets(schema: unknown, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (secrecyOf(schema) === 'given') return isReference(value) && REFERENCE_SHOWN.test(value) ? value : SECRET;
  const inner = unwrapped(schema);
  if (inner instanceof z.ZodUnion) {
    const option = inner.options.find((one) => one instanceof z.ZodType && one.safeParse(value).success);
    return option === undefined ? REMOVED : withoutSecrets(option, value);
  }
  if (typeof value === 'string' && isStructure(inner)) {
    if (inner instanceof z.ZodArray && isAnyJson(unwrapped(inner.element))) return value;
    const parsed = structureIn(value);
    return parsed === undefined ? REMOVED : withoutSecrets(inner, parsed);
  }
  if (inner instanceof z.ZodArray && Array.isArray(value)) {
    return value.map((item) => withoutSecrets(inner.element, item));
  }
  if (inner instanceof z.ZodObject && typeof value === 'object' && !Array.isArray(value)) {
    const shape = inner.shape as Record<string, unknown>;
    const fields = Object.entries(value).map(([name, field]) => {
      return Object.hasOwn(shape, name)
        ? ([name, withoutSecrets(shape[name], field)] as const)
        : ([short(name), UNKNOWN] as const);
    });
    return Object.fromEntries(fields);
  }
  // A value of the wrong shape may be anything, for example a password instead of an object.
  const isFreeForm = inner instanceof z.ZodCustom || isScalar(inner);
  return isFreeForm && inner instanceof z.ZodType && inner.safeParse(value).success ? value : REMOVED;
}

function isStructure(schema: unknown): boolean {
  return schema instanceof z.ZodObject || schema instanceof z.ZodArray;
}

/** Whether values of this schema contain no other values. */
function isScalar(schema: unknown): boolean {
  const inner = unwrapped(schema);
  return !isStructure(inner) && !(inner instanceof z.ZodCustom || inner instanceof z.ZodUnion);
}

function cutValue(value: unknown, limits: (typeof LIMITS)[number], depth: number): unknown {
  if (typeof value === 'string') return cutWithoutKeys(value, limits.chars);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEPTH_MAX) return '…';
  if (Array.isArray(value)) {
    const shown = value.slice(0, limits.items).map((item) => cutValue(item, limits, depth + 1));
    return shown.length === value.length ? shown : [...shown, `…[+${value.length - shown.length} items]`];
  }
  const fields = Object.entries(value);
  const shown = fields
    .slice(0, limits.items * 4)
    .map(([name, field]) => [cutWithoutKeys(name, limits.chars), cutValue(field, limits, depth + 1)] as const);
  if (shown.length < fields.length) shown.push([`…[+${fields.length - shown.length} fields]`, null]);
  return Object.fromEntries(shown);
}
