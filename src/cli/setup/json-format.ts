import type { ConfigFormat, Entry } from './format.ts';
import { Refusal } from './format.ts';
import { type JsonMember, type JsonNode, parseJsonText } from './jsonc.ts';

/** Plain JSON, as JSON.parse reads it. */
export const json: ConfigFormat = jsonFormat({ lenient: false });
/** JSON with comments and trailing commas. */
export const jsonc: ConfigFormat = jsonFormat({ lenient: true });

const EMPTY = '{}\n';

function jsonFormat(rules: { lenient: boolean }): ConfigFormat {
  // An empty file counts as an empty configuration, as it does for the assistants.
  const parse = (text: string) => parseJsonText(text.trim() === '' ? '{}' : text, rules);
  return {
    read(text) {
      const { root, comments } = parse(text);
      return { value: root.value, comments };
    },
    put(given, path, entry) {
      const text = given.trim() === '' ? EMPTY : given;
      const { root } = parse(text);
      const { node, missing } = nearest(root, path);
      if (missing.length === 0) return replaced(text, node, entry, styleOf(text, root));
      const [key = '', ...below] = missing;
      const value = below.reduceRight<unknown>((inner, name) => ({ [name]: inner }), entry);
      return inserted(text, node, key, value, styleOf(text, root));
    },
    commentsWithin(text, path) {
      const { root } = parse(text);
      const { node: table } = nearest(root, path.slice(0, -1));
      const member = table.members?.find(({ key }) => key === path.at(-1));
      if (member === undefined) return 0;
      const end = commaBehind(text, member.node.end) ?? member.node.end;
      return parse(`{${text.slice(member.start, end)}\n}`).comments.length;
    },
    remove(text, path) {
      const { root } = parse(text);
      const { node: table } = nearest(root, path.slice(0, -1));
      const index = table.members?.findIndex(({ key }) => key === path.at(-1)) ?? -1;
      return removed(text, table, index);
    },
  };
}

/** The innermost existing value on the way to `path`, and the keys missing below it. */
function nearest(root: JsonNode, path: readonly string[]): { node: JsonNode; missing: readonly string[] } {
  let node = root;
  for (const [depth, key] of path.entries()) {
    const found = node.members?.filter((member) => member.key === key) ?? [];
    // Which of them counts depends on the parser.
    if (found.length > 1) throw new Refusal(`"${key}" stands in it more than once`);
    const [member] = found;
    if (member === undefined) return { node, missing: path.slice(depth) };
    node = member.node;
  }
  return { node, missing: [] };
}

interface Style {
  eol: string;
  /** The indentation of one level. */
  indent: string;
  /** Everything is on one line. */
  isCompact: boolean;
}

function styleOf(text: string, root: JsonNode): Style {
  const [first] = root.members ?? [];
  const indent = first === undefined ? undefined : indentAt(text, first.start);
  return {
    eol: text.includes('\r\n') ? '\r\n' : '\n',
    indent: indent ?? '  ',
    isCompact: first !== undefined && !text.trim().includes('\n'),
  };
}

/** The white space before something that begins its line; undefined if it does not. */
function indentAt(text: string, position: number): string | undefined {
  const line = text.slice(text.lastIndexOf('\n', position - 1) + 1, position);
  return /^[ \t]*$/.test(line) ? line : undefined;
}

/** The white space at the beginning of a position's line. */
function lineIndent(text: string, position: number): string {
  return /[ \t]*/.exec(text.slice(text.lastIndexOf('\n', position - 1) + 1, position))?.[0] ?? '';
}

function shown(value: unknown, indent: string, { eol, indent: unit, isCompact }: Style): string {
  if (isCompact) return JSON.stringify(value);
  return JSON.stringify(value, null, unit).replaceAll('\n', `${eol}${indent}`);
}

function replaced(text: string, node: JsonNode, entry: Entry, style: Style): string {
  return `${text.slice(0, node.start)}${shown(entry, lineIndent(text, node.start), style)}${text.slice(node.end)}`;
}

function inserted(text: string, table: JsonNode, key: string, value: unknown, style: Style): string {
  const last = table.members?.at(-1);
  const outer = lineIndent(text, table.start);
  const indent = (last && indentAt(text, last.start)) ?? `${outer}${style.indent}`;
  const member = `${JSON.stringify(key)}:${style.isCompact ? '' : ' '}${shown(value, indent, style)}`;
  if (last === undefined) {
    const at = behindComments(text, table.start + 1, table.end - 1, { isWholeTable: true });
    const [before, after] = style.isCompact ? ['', ''] : [`${style.eol}${indent}`, `${style.eol}${outer}`];
    return `${text.slice(0, at)}${before}${member}${after}${text.slice(table.end - 1)}`;
  }
  const comma = commaBehind(text, last.node.end);
  const from = comma === undefined ? last.node.end : comma + 1;
  // A comment after the last member, on its line, belongs to that member.
  const at = behindComments(text, from, table.end - 1, { isWholeTable: false });
  const begin = style.isCompact || indentAt(text, last.start) === undefined ? '' : `${style.eol}${indent}`;
  const separator = comma === undefined ? ',' : '';
  const gap = begin === '' && !style.isCompact ? ' ' : begin;
  const tail = comma === undefined ? '' : ',';
  return `${text.slice(0, last.node.end)}${separator}${text.slice(last.node.end, at)}${gap}${member}${tail}${text.slice(at)}`;
}

/** Position of the comma after a value; undefined if there is none. */
function commaBehind(text: string, position: number): number | undefined {
  const between = /^(?:[ \t\r\n]|\/\/[^\r\n]*|\/\*[\s\S]*?\*\/)*/.exec(text.slice(position))?.[0].length ?? 0;
  return text[position + between] === ',' ? position + between : undefined;
}

const COMMENTS = /^(?:[ \t\r\n]*(?:\/\/[^\r\n]*|\/\*[\s\S]*?\*\/))+/;
const COMMENTS_ON_LINE = /^(?:[ \t]*(?:\/\/[^\r\n]*|\/\*[\s\S]*?\*\/))+/;

/** The end of the last comment from `from` on: on the same line, or in the whole rest of the table. */
function behindComments(text: string, from: number, to: number, { isWholeTable }: { isWholeTable: boolean }): number {
  const rule = isWholeTable ? COMMENTS : COMMENTS_ON_LINE;
  return from + (rule.exec(text.slice(from, to))?.[0].length ?? 0);
}

function removed(text: string, table: JsonNode, index: number): string {
  const members = table.members ?? [];
  const member = members[index];
  if (member === undefined) throw new Refusal('the entry is not in it');
  const start = text.slice(0, member.start).trimEnd().length;
  const comma = commaBehind(text, member.node.end);
  const rest = text.slice(comma === undefined ? member.node.end : comma + 1);
  const before = comma === undefined ? withoutLastComma(text, members[index - 1], start) : text.slice(0, start);
  if (members.length === 1 && /^\s*\}/.test(rest) && before.endsWith('{')) return `${before}${rest.trimStart()}`;
  return `${before}${rest}`;
}

/** The text before a last member that is removed, without the comma between it and the member before. */
function withoutLastComma(text: string, previous: JsonMember | undefined, end: number): string {
  const comma = previous === undefined ? undefined : commaBehind(text, previous.node.end);
  return comma === undefined ? text.slice(0, end) : `${text.slice(0, comma)}${text.slice(comma + 1, end)}`;
}
