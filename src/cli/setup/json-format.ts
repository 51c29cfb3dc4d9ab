import { getNodeValue, type JSONVisitor, type Node, parseTree, printParseErrorCode, visit } from 'jsonc-parser';
import type { ConfigFormat, Entry } from './format.ts';
import { Refusal } from './format.ts';

/** Plain JSON, as JSON.parse reads it. */
export const json: ConfigFormat = jsonFormat({ lenient: false });
/** JSON with comments and trailing commas. */
export const jsonc: ConfigFormat = jsonFormat({ lenient: true });

const EMPTY = '{}\n';
const DEPTH_MAX = 200;
/** What errors of the parser mean, by their names. */
const MISSING: Readonly<Record<string, string>> = {
  CommaExpected: 'a comma is missing',
  ColonExpected: 'a colon is missing',
  PropertyNameExpected: 'a name in quotes is missing',
  EndOfFileExpected: 'something follows its end',
};

function jsonFormat(rules: { lenient: boolean }): ConfigFormat {
  // An empty file counts as an empty configuration, as it does for the assistants.
  const parse = (text: string) => parsed(text.trim() === '' ? '{}' : text, rules);
  return {
    read(text) {
      const { root, comments } = parse(text);
      return { value: getNodeValue(root), comments };
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
      const { node, missing } = nearest(parse(text).root, path);
      if (node.parent === undefined || missing.length > 0) return 0;
      const end = commaBehind(text, endOf(node)) ?? endOf(node);
      return parse(`{${text.slice(node.parent.offset, end)}\n}`).comments.length;
    },
    remove(text, path) {
      const { node, missing } = nearest(parse(text).root, path);
      if (node.parent === undefined || missing.length > 0) throw new Refusal('the entry is not in it');
      return removed(text, node.parent);
    },
  };
}

/** The tree of a text, and its comments as written. Throws `Refusal` with line and column. */
function parsed(text: string, { lenient }: { lenient: boolean }): { root: Node; comments: string[] } {
  const options = { disallowComments: !lenient, allowTrailingComma: lenient };
  const comments: string[] = [];
  const fail = (why: string, line: number, column: number) => {
    throw new Refusal(`${why} at line ${line + 1}, column ${column + 1}`);
  };
  const enter: JSONVisitor['onArrayBegin'] = (_offset, _length, line, column, path) => {
    if (path().length > DEPTH_MAX) fail('it is nested too deep', line, column);
  };
  visit(
    text,
    {
      onComment: (offset, length) => void comments.push(text.slice(offset, offset + length)),
      onObjectBegin: enter,
      onArrayBegin: enter,
      onError: (code, offset, _length, line, column) =>
        fail(
          offset < text.length ? (MISSING[printParseErrorCode(code)] ?? 'it is not JSON') : 'it ends too early',
          line,
          column,
        ),
    },
    options,
  );
  const root = parseTree(text, [], options);
  if (root === undefined) throw new Refusal('it is not JSON');
  return { root, comments };
}

function endOf({ offset, length }: Node): number {
  return offset + length;
}

/** The members of an object: nodes of a name and its value. */
function membersOf({ type, children = [] }: Node): Node[] {
  return type === 'object' ? children : [];
}

/** The innermost existing value on the way to `path`, and the keys missing below it. */
function nearest(root: Node, path: readonly string[]): { node: Node; missing: readonly string[] } {
  let node = root;
  for (const [depth, key] of path.entries()) {
    const found = membersOf(node).filter(({ children }) => children?.[0]?.value === key);
    // Which of them counts depends on the parser.
    if (found.length > 1) throw new Refusal(`"${key}" stands in it more than once`);
    const value = found[0]?.children?.[1];
    if (value === undefined) return { node, missing: path.slice(depth) };
    node = value;
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

function styleOf(text: string, root: Node): Style {
  const [first] = membersOf(root);
  const indent = first === undefined ? undefined : indentAt(text, first.offset);
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

function replaced(text: string, node: Node, entry: Entry, style: Style): string {
  return `${text.slice(0, node.offset)}${shown(entry, lineIndent(text, node.offset), style)}${text.slice(endOf(node))}`;
}

function inserted(text: string, table: Node, key: string, value: unknown, style: Style): string {
  const last = membersOf(table).at(-1);
  const outer = lineIndent(text, table.offset);
  const indent = (last && indentAt(text, last.offset)) ?? `${outer}${style.indent}`;
  const member = `${JSON.stringify(key)}:${style.isCompact ? '' : ' '}${shown(value, indent, style)}`;
  if (last === undefined) {
    const at = behindComments(text, table.offset + 1, endOf(table) - 1, { isWholeTable: true });
    const [before, after] = style.isCompact ? ['', ''] : [`${style.eol}${indent}`, `${style.eol}${outer}`];
    return `${text.slice(0, at)}${before}${member}${after}${text.slice(endOf(table) - 1)}`;
  }
  const comma = commaBehind(text, endOf(last));
  const from = comma === undefined ? endOf(last) : comma + 1;
  // A comment after the last member, on its line, belongs to that member.
  const at = behindComments(text, from, endOf(table) - 1, { isWholeTable: false });
  const begin = style.isCompact || indentAt(text, last.offset) === undefined ? '' : `${style.eol}${indent}`;
  const separator = comma === undefined ? ',' : '';
  const gap = begin === '' && !style.isCompact ? ' ' : begin;
  const tail = comma === undefined ? '' : ',';
  return `${text.slice(0, endOf(last))}${separator}${text.slice(endOf(last), at)}${gap}${member}${tail}${text.slice(at)}`;
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

function removed(text: string, member: Node): string {
  const members = member.parent?.children ?? [];
  const previous = members[members.indexOf(member) - 1];
  const start = text.slice(0, member.offset).trimEnd().length;
  const comma = commaBehind(text, endOf(member));
  const rest = text.slice(comma === undefined ? endOf(member) : comma + 1);
  const before = comma === undefined ? withoutLastComma(text, previous, start) : text.slice(0, start);
  if (members.length === 1 && /^\s*\}/.test(rest) && before.endsWith('{')) return `${before}${rest.trimStart()}`;
  return `${before}${rest}`;
}

/** The text before a last member that is removed, without the comma between it and the member before. */
function withoutLastComma(text: string, previous: Node | undefined, end: number): string {
  const comma = previous === undefined ? undefined : commaBehind(text, endOf(previous));
  return comma === undefined ? text.slice(0, end) : `${text.slice(0, comma)}${text.slice(comma + 1, end)}`;
}
