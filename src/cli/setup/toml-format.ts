import { parse, stringify } from 'smol-toml';
import { type ConfigFormat, type Entry, Refusal } from './format.ts';

/** TOML. An entry is a table of its own, `[above.name]`, with its content on the lines below. */
export const toml: ConfigFormat = {
  read(text) {
    try {
      return { value: parse(text, { integersAsBigInt: true }), comments: commentsOf(text) };
    } catch (error) {
      const why = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
      throw new Refusal(`it is not TOML (${why})`);
    }
  },
  put(text, path, entry) {
    const eol = text.includes('\r\n') ? '\r\n' : '\n';
    const table = tableOf(path, entry).replaceAll('\n', eol);
    const block = blockOf(text, path);
    if (block !== undefined) return `${text.slice(0, block.start)}${table}${text.slice(block.end)}`;
    const gap = text.trim() === '' ? '' : eol.repeat(text.endsWith('\n') ? 1 : 2);
    return `${text}${gap}${table}${eol}`;
  },
  commentsWithin(text, path) {
    const block = blockOf(text, path);
    return block === undefined ? 0 : commentsOf(text.slice(block.start, block.end)).length;
  },
  remove(text, path) {
    const block = blockOf(text, path);
    if (block === undefined) throw new Refusal('the entry is not written as a table of its own');
    const before = text.slice(0, block.start);
    const after = text.slice(block.end).replace(/^\r?\n/, '');
    // One of the two empty lines around the entry is removed, too.
    return after.trim() === '' || /^\r?\n/.test(after)
      ? `${before.replace(/(\r?\n)\r?\n$/, '$1')}${after}`
      : before + after;
  },
};

function tableOf(path: readonly string[], entry: Entry): string {
  const lines = Object.entries(entry).map(([key, value]) => `${keyOf(key)} = ${inline(value)}`);
  return [`[${path.map(keyOf).join('.')}]`, ...lines].join('\n');
}

function keyOf(key: string): string {
  return /^[\w-]+$/.test(key) ? key : inline(key);
}

function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{ ${Object.entries(value)
      .map(([key, one]) => `${keyOf(key)} = ${inline(one)}`)
      .join(', ')} }`;
  }
  return stringify({ value }).trim().slice('value = '.length);
}

/**
 * The position of the entry's table and of its subtables directly after it, without comments and empty lines that may
 * belong to what comes next. It is found by its lines; if something inside a multi-line string merely looks like a
 * table, the later comparison of the file's meaning notices it.
 */
function blockOf(text: string, path: readonly string[]): { start: number; end: number } | undefined {
  const isOwn = (line: string) => {
    const keys = headerOf(line);
    return keys !== undefined && path.every((key, at) => keys[at] === key);
  };
  const lines = [...text.matchAll(/[^\n]*(?:\n|$)/g)].filter(([line]) => line !== '');
  const first = lines.findIndex(([line]) => isOwn(line));
  const start = lines[first]?.index;
  if (start === undefined) return undefined;
  const next = lines.slice(first + 1).findIndex(([line]) => /^[ \t]*\[/.test(line) && !isOwn(line));
  let last = next === -1 ? lines.length - 1 : first + next;
  while (last > first && /^\s*(#|$)/.test(lines[last]?.[0] ?? '')) last -= 1;
  const [line = ''] = lines[last] ?? [];
  return { start, end: (lines[last]?.index ?? start) + line.replace(/\r?\n$/, '').length };
}

/** The keys of a table's header, without their quotes; undefined for any other line. */
function headerOf(line: string): string[] | undefined {
  const inside = /^[ \t]*\[([^\]]*)\]/.exec(line)?.[1];
  return inside?.split('.').map((key) => key.trim().replace(/^["']|["']$/g, ''));
}

/** Lines that contain only a comment. */
function commentsOf(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => /^[ \t]*#/.test(line));
}
