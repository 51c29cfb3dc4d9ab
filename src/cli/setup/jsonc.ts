import { Refusal } from './format.ts';

/** A value in a JSON text, with its position. */
export interface JsonNode {
  start: number;
  /** After its last character. */
  end: number;
  value: unknown;
  /** For an object. */
  members?: JsonMember[];
}

export interface JsonMember {
  key: string;
  start: number;
  node: JsonNode;
}

export interface JsonText {
  root: JsonNode;
  /** In their order, as written. */
  comments: string[];
}

const SPACE = /[ \t\r\n]+/y;
const COMMENT = /\/\/[^\r\n]*|\/\*[\s\S]*?\*\//y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: a string may not hold them
const STRING = /"(?:[^"\\\u0000-\u001f]|\\.)*"/y;
const SCALAR = /-?\d[\d.eE+-]*|true|false|null/y;
const DEPTH_MAX = 200;

/**
 * Parses JSON and records positions; with `lenient`, comments and trailing commas are allowed. Throws `Refusal` with
 * line and column.
 */
export function parseJsonText(text: string, { lenient }: { lenient: boolean }): JsonText {
  const comments: string[] = [];
  let at = 0;

  const fail = (why: string, where = at): never => {
    const before = text.slice(0, where).split('\n');
    throw new Refusal(`${why} at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`);
  };
  const match = (rule: RegExp): string | undefined => {
    rule.lastIndex = at;
    const found = rule.exec(text)?.[0];
    at += found?.length ?? 0;
    return found;
  };
  const skip = () => {
    for (;;) {
      match(SPACE);
      if (!lenient) return;
      const comment = match(COMMENT);
      if (comment === undefined) return;
      comments.push(comment);
    }
  };
  const scalar = (found: string): unknown => {
    try {
      return JSON.parse(found);
    } catch {
      return fail('it is not JSON', at - found.length);
    }
  };

  function value(depth: number): JsonNode {
    const start = at;
    if (depth > DEPTH_MAX) fail('it is nested too deep');
    if (text[at] === '{') return object(depth);
    if (text[at] === '[') return array(depth);
    const found = match(STRING) ?? match(SCALAR);
    if (found === undefined) return fail(at < text.length ? 'it is not JSON' : 'it ends too early');
    return { start, end: at, value: scalar(found) };
  }

  /** Reads items separated by commas, up to the closing bracket. */
  function list(close: string, one: () => void): void {
    at += 1;
    skip();
    for (let isFirst = true; text[at] !== close; isFirst = false) {
      if (!isFirst) {
        if (text[at] !== ',') fail(at < text.length ? 'a comma is missing' : 'it ends too early');
        at += 1;
        skip();
        if (lenient && text[at] === close) break;
      }
      one();
      skip();
    }
    at += 1;
  }

  function object(depth: number): JsonNode {
    const start = at;
    const members: JsonMember[] = [];
    const made: Record<string, unknown> = Object.create(null);
    list('}', () => {
      const keyAt = at;
      const key = scalar(match(STRING) ?? fail('a name in quotes is missing'));
      skip();
      if (text[at] !== ':') fail('a colon is missing');
      at += 1;
      skip();
      const node = value(depth + 1);
      members.push({ key: String(key), start: keyAt, node });
      made[String(key)] = node.value;
    });
    return { start, end: at, value: made, members };
  }

  function array(depth: number): JsonNode {
    const start = at;
    const items: unknown[] = [];
    list(']', () => {
      items.push(value(depth + 1).value);
    });
    return { start, end: at, value: items };
  }

  skip();
  const root = value(0);
  skip();
  if (at < text.length) fail('something follows its end');
  return { root, comments };
}
