import { request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import { AvroCursor, AvroError } from '../../contract/avro/cursor.ts';
import type { Read } from '../../contract/avro/logical.ts';
import { parsedSchema, readerOfSchema } from '../../contract/avro/schema.ts';
import { isObject, type JsonValue } from '../../contract/json/json.ts';
import { ITEM_VALUES_MAX } from '../../contract/json/json-scan.ts';
import { DEPTH_MAX, measure } from '../../contract/json/measure.ts';
import { type Declared, declaredOfSchema } from './kafka-avro-types.ts';
import type { RegistrySettings } from './kafka-settings.ts';
import { SourceError } from './source.ts';

/** Messages in Avro as Confluent's clients write them: a zero, the number of the schema, the value. */
export interface SchemaRegistry {
  /** Whether it answers, and lets us in. */
  check(): Promise<void>;
  /** A value, or why it cannot be read, as a clause. Rejects a `SourceError` if the registry cannot be asked. */
  decode(bytes: Buffer): Promise<{ value: JsonValue; declared: Declared } | { reason: string }>;
}

interface Schema {
  read: Read;
  declared: Declared;
}

const HEAD_BYTES = 5;
const SCHEMA_BYTES_MAX = 4 * 1024 * 1024;
const ANSWER_MS = 20_000;
/** Schemas that are kept; a topic has one or a few. */
const SCHEMAS_MAX = 200;
/** Schemas that one uses, directly or not. */
const REFERENCES_MAX = 100;
/** How long it is taken for granted that a schema is not there. */
const MISSING_MS = 30_000;

export function createSchemaRegistry(settings: RegistrySettings, signal: AbortSignal): SchemaRegistry {
  const kept = new Map<number, { schema: Promise<Schema | string>; until: number }>();
  const ask = (path: string) => askRegistry(settings, path, signal);

  function schemaOf(id: number): Promise<Schema | string> {
    const known = kept.get(id);
    if (known !== undefined && known.until > Date.now()) return known.schema;
    if (kept.size >= SCHEMAS_MAX) kept.clear();
    const schema = readSchema(id);
    const entry = { schema, until: Number.POSITIVE_INFINITY };
    kept.set(id, entry);
    schema.then(
      (one) => {
        if (typeof one === 'string') entry.until = Date.now() + MISSING_MS;
      },
      () => kept.delete(id),
    );
    return schema;
  }

  async function readSchema(id: number): Promise<Schema | string> {
    const found = await ask(`schemas/ids/${id}`);
    if (found === undefined) return `has the schema ${id}, which the registry does not know`;
    const { schema, schemaType = 'AVRO' } = found;
    if (schemaType !== 'AVRO') return `has a schema of the kind ${JSON.stringify(schemaType)}; only Avro is read`;
    if (typeof schema !== 'string') return `has the schema ${id}, which the registry does not give as text`;
    const before = new Map<string, string>();
    const missing = await collectReferences(found, before);
    if (missing !== undefined) return `has the schema ${id}, which uses ${missing}`;
    try {
      const texts = [...before.values()];
      const declared = declaredOfSchema(parsedSchema(schema));
      let mayBeLong = false;
      const notes = {
        // JSON has no number that is none.
        unwritable: () => undefined,
        longDecimal: () => undefined,
        mayBeLong: () => {
          mayBeLong = true;
        },
        // The values of one field are either numbers or text, whatever each is; a column of decimals takes both.
        isText: (field: string) => mayBeLong && !declared.has(field),
      };
      return { read: readerOfSchema(schema, notes, texts), declared };
    } catch (error) {
      if (error instanceof AvroError) return `has the schema ${id}, which cannot be read: ${error.message}`;
      throw error;
    }
  }

  /** Schemas by what names them, each behind those that it uses; returns the one that is not there. */
  async function collectReferences(
    { references }: Record<string, unknown>,
    before: Map<string, string>,
    within: ReadonlySet<string> = new Set(),
  ): Promise<string | undefined> {
    for (const one of Array.isArray(references) ? references : []) {
      const { subject, version } = isObject(one) ? one : {};
      const name = `${String(subject)}, version ${String(version)}`;
      if (before.has(name)) continue;
      if (before.size + within.size >= REFERENCES_MAX || within.has(name)) return `${name}, in a circle or too many`;
      const path = `subjects/${encodeURIComponent(String(subject))}/versions/${encodeURIComponent(String(version))}`;
      const found = await ask(path);
      if (typeof found?.['schema'] !== 'string') return `${name}, which the registry does not know`;
      const missing = await collectReferences(found, before, new Set([...within, name]));
      if (missing !== undefined) return missing;
      before.set(name, found['schema']);
    }
    return undefined;
  }

  return {
    async check() {
      // Everything that speaks for it has this, and it needs no schema.
      if ((await ask('schemas/types')) === undefined) {
        throw new SourceError(
          'settings',
          `There is no schema registry at ${placeOf(settings)}: its address is that below which "schemas/ids" is.`,
        );
      }
    },
    async decode(bytes) {
      if (bytes.length < HEAD_BYTES || bytes[0] !== 0) {
        return { reason: 'is no Avro of a schema registry, which begins with a zero and the number of its schema' };
      }
      const schema = await schemaOf(bytes.readUInt32BE(1));
      return typeof schema === 'string' ? { reason: schema } : decoded(schema, bytes.subarray(HEAD_BYTES));
    },
  };
}

function decoded({ read, declared }: Schema, bytes: Buffer) {
  const cursor = new AvroCursor(bytes);
  try {
    cursor.beginRecord();
    const value = read(cursor);
    const { values, problem, left, deepest } = cursor;
    if (problem !== undefined) return { reason: problem };
    if (left > 0) return { reason: `has ${left} bytes behind what its schema says` };
    if (values > ITEM_VALUES_MAX) return { reason: `holds more than ${ITEM_VALUES_MAX} values` };
    const tooDeep = deepest > DEPTH_MAX ? measure(value).problem : undefined;
    return tooDeep === undefined ? { value, declared } : { reason: tooDeep };
  } catch (error) {
    if (error instanceof AvroError) return { reason: `does not fit its schema: ${error.message}` };
    throw error;
  }
}

function placeOf({ url }: RegistrySettings): string {
  return `${url.protocol}//${url.host}${url.pathname}`;
}

/** What the registry says to a path; undefined if it has no such thing. */
async function askRegistry(
  settings: RegistrySettings,
  path: string,
  signal: AbortSignal,
): Promise<Record<string, unknown> | undefined> {
  const place = placeOf(settings);
  const { status, text } = await get(settings, new URL(path, settings.url), signal).catch((error: unknown) => {
    signal.throwIfAborted();
    const { code = (error as Error).message } = error as { code?: string };
    throw new SourceError('unreachable', `The schema registry ${place} does not answer: ${code}.`, { cause: error });
  });
  if (status === 404) return undefined;
  if (status === 401 || status === 403) {
    throw new SourceError(
      'denied',
      `The schema registry ${place} refuses the "key" and "secret" of "schema_registry_config".`,
    );
  }
  if (status !== 200) {
    throw new SourceError('unreachable', `The schema registry ${place} answers with the status ${status}.`);
  }
  try {
    const answer: unknown = JSON.parse(text);
    return isObject(answer) ? answer : {};
  } catch (error) {
    throw new SourceError('settings', `What answers at ${place} is no schema registry.`, { cause: error });
  }
}

function get({ login, ca }: RegistrySettings, url: URL, signal: AbortSignal) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestTls : requestPlain;
    const options = {
      auth: login,
      ca,
      agent: false as const,
      headers: { accept: 'application/vnd.schemaregistry.v1+json, application/json' },
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
    };
    request(url, options, (response) => {
      const pieces: Buffer[] = [];
      let size = 0;
      response.on('data', (piece: Buffer) => {
        size += piece.length;
        if (size > SCHEMA_BYTES_MAX) response.destroy(new Error(`it sends more than ${SCHEMA_BYTES_MAX} bytes`));
        else pieces.push(piece);
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString() }));
    })
      .on('error', reject)
      .end();
  });
}
