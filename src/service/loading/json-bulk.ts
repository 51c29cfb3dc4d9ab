import { counted } from '../../contract/in-words.ts';
import { isObject, type JsonObject, parseJson } from '../../contract/json/json.ts';
import { isSpace, type JsonPart, linesIn } from './json-parts.ts';
import type { JsonStage } from './json-stage.ts';

/** The lines that Elasticsearch takes in bulk: an action, such as {"index": {"_id": "1"}}, before each document. */

const [LF, OPEN, CLOSE] = [0x0a, 0x7b, 0x7d];
const ACTION_BYTES_MAX = 8 * 1024;
/** In so many lines each document has an action, or the file is one of documents that look like actions. */
const LINES_CHECKED = 100;
/** Actions that a document follows, and those that change what is there: these are left out. */
const ADDING = ['index', 'create'];
const OTHERS = ['update', 'delete'];
const FIELDS: ReadonlySet<string> = new Set(
  'pipeline require_alias require_data_stream dynamic_templates routing version version_type if_seq_no if_primary_term retry_on_conflict list_executed_pipelines'.split(
    ' ',
  ),
);

interface Action {
  name: string;
  id: string | undefined;
}

/** How a file is read whose first line is an action, the second a document, and in whose first lines all have their actions. */
export function bulkStage({ bytes, isLines }: JsonPart): JsonStage | undefined {
  if (!isLines) return undefined;
  let [seen, before]: [number, Action | undefined] = [0, undefined];
  for (const line of linesOf(bytes)) {
    seen += 1;
    if (seen > LINES_CHECKED) break;
    if (before !== undefined) {
      if (seen === 2 && (bytes[line.start] !== OPEN || actionOf(bytes, line) !== undefined)) return undefined;
      before = undefined;
      continue;
    }
    const action = actionOf(bytes, line);
    if (action === undefined || (seen === 1 && !ADDING.includes(action.name))) return undefined;
    if (action.name !== 'delete') before = action;
  }
  return new Bulk();
}

class Bulk implements JsonStage {
  /** What the line before said of the next one. */
  #before: Action | undefined;
  #leftOut = { count: 0, line: 0 };

  read(part: JsonPart): JsonPart {
    const { bytes } = part;
    const pieces: Buffer[] = [];
    let copied = 0;
    const leave = (from: number, to: number) => {
      pieces.push(bytes.subarray(copied, from));
      copied = to;
    };
    for (const { start, end } of linesOf(bytes)) {
      const before = this.#before;
      if (before === undefined) {
        const action = actionOf(bytes, { start, end });
        if (action === undefined) continue;
        leave(start, end);
        if (OTHERS.includes(action.name)) this.#leaveOut(part, start);
        if (action.name !== 'delete') this.#before = action;
        continue;
      }
      this.#before = undefined;
      if (before.name === 'update') leave(start, end);
      else if (before.id !== undefined && bytes[start] === OPEN) {
        let next = start + 1;
        while (next < end && isSpace(bytes[next])) next += 1;
        leave(start, start + 1);
        pieces.push(Buffer.from(`{"_id":${JSON.stringify(before.id)}${bytes[next] === CLOSE ? '' : ','}`));
      }
    }
    if (pieces.length === 0) return part;
    pieces.push(bytes.subarray(copied));
    return { ...part, bytes: Buffer.concat(pieces) };
  }

  #leaveOut(part: JsonPart, start: number): void {
    if (this.#leftOut.count === 0) this.#leftOut.line = part.line + linesIn(part.bytes, 0, start);
    this.#leftOut.count += 1;
  }

  warnings(): string[] {
    const { count, line } = this.#leftOut;
    const told =
      'The file has lines for the bulk API of Elasticsearch: its action lines give the _id of the next line.';
    if (count === 0) return [told];
    const [are, them] = count === 1 ? ['is', 'it asks'] : ['are', 'they ask'];
    return [
      `${told} ${counted(count, 'actions')} that update or delete ${are} left out with what ${them} for (first in line ${line.toLocaleString('en-US')}).`,
    ];
  }
}

interface Line {
  start: number;
  end: number;
}

/** The lines that are not empty. */
function* linesOf(bytes: Buffer): Generator<Line> {
  for (let at = 0; at < bytes.length; ) {
    const feed = bytes.indexOf(LF, at);
    const end = feed < 0 ? bytes.length : feed;
    while (at < end && isSpace(bytes[at])) at += 1;
    if (at < end) yield { start: at, end };
    at = end + 1;
  }
}

/** The action of a line: an object whose only key names it, about fields that are none of a document. */
function actionOf(bytes: Buffer, { start, end }: Line): Action | undefined {
  if (bytes[start] !== OPEN || end - start > ACTION_BYTES_MAX) return undefined;
  let value: unknown;
  try {
    value = parseJson(bytes.toString('utf8', start, end));
  } catch {
    return undefined;
  }
  const [[name = '', about] = [], more] = isObject(value) ? Object.entries(value as JsonObject) : [];
  if (more !== undefined || ![...ADDING, ...OTHERS].includes(name) || !isObject(about)) return undefined;
  if (!Object.keys(about).every((key) => key.startsWith('_') || FIELDS.has(key))) return undefined;
  const { _id: id } = about as JsonObject;
  return {
    name,
    id: typeof id === 'string' || typeof id === 'number' || typeof id === 'bigint' ? String(id) : undefined,
  };
}
