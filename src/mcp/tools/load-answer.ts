import { counted } from '../../contract/in-words.ts';
import type { Fenced } from '../fence.ts';
import { cutText } from '../room.ts';
import { addressing, type Found } from './addressing.ts';
import { count, type FileFacts, insideOf, type Load } from './load.ts';
import type { LoadInput } from './load-arguments.ts';
import { type LoadedFields, loadedFields } from './loaded-fields.ts';
import { quotesHints, tableOf } from './table-names.ts';
import type { ToolContext } from './tool.ts';

const FIELD_CHARS_MAX = 200;
const LISTS_MAX = 10;

const FIELDS_TOKENS_MAX = 1_500;

/** The answer of a finished load of one file. */
export async function presentLoad(
  context: Pick<ToolContext, 'client' | 'signal'>,
  load: Load,
  file: FileFacts,
  input: LoadInput,
): Promise<Fenced> {
  const { failed, failedAt, failures, stopped } = load;
  const { nulled, asText } = file;
  const inside = insideOf(load);
  const table = tableOf(load.target);
  const fields = inside > 0 ? await loadedFields(context, table, FIELDS_TOKENS_MAX) : undefined;
  const warnings = [
    ...withoutIdWarning(load.withoutId, load.target.before),
    ...file.warnings,
    ...(load.warnings.shown().warnings ?? []),
  ];
  return {
    data: {
      file: file.path,
      bytes: file.bytes,
      format: file.format,
      ...readAs(file),
      collection: table,
      ...(load.isCreated ? { collection_created: true } : {}),
      ...(load.target.before > 0 ? { documents_before: load.target.before } : {}),
      complete: stopped === undefined,
      ...(stopped === undefined ? {} : { stopped_because: stopped.why }),
      entries: load.entries,
      ...(input.skip === undefined ? {} : { skipped: Math.min(input.skip, load.entries) }),
      counts: { ...load.counts, ...(failures > 0 ? { ERROR: failures } : {}) },
      ...(load.withoutId > 0 ? { without_id: load.withoutId } : {}),
      ...(failed.length > 0
        ? {
            failed: failed.toSorted(byPlace).map(({ at, id, error }) => ({
              [file.unit]: at,
              ...(id === null ? {} : { _id: id }),
              error,
            })),
          }
        : {}),
      ...(failedAt.length > 0 ? { [`failed_at_${file.unit}s`]: rangesText(failedAt) } : {}),
      ...(nulled > 0 ? { [file.format === 'xlsx' ? 'error_cells' : 'values_made_null']: nulled } : {}),
      ...(asText.length > 0 ? { decimals_as_text: asText } : {}),
      ...(fields === undefined ? {} : { fields: fields.text }),
      ...(warnings.length > 0 ? { warnings } : {}),
    },
    brief: briefLoad,
    next: `${[...hints(file, load, input, inside), addressed(inside, table, fields)].filter((text) => text !== '').join('; ')}.`,
    isError: stopped !== undefined || (failures > 0 && inside === 0),
  };
}

/** Without what goes without saying: the file that was named, the format that its name says, and that all of it is in. */
function briefLoad({ file, bytes: _, format, complete, entries, ...data }: Fenced['data']): Fenced['data'] {
  const counts = Object.values(data['counts'] ?? {}).reduce((sum: number, one) => sum + Number(one), 0);
  const { collection_created: _created, ...rest } = data;
  const told = String(file).endsWith(`.${format}`) ? {} : { format };
  return complete === true && counts === entries ? { ...told, ...rest } : { complete, entries, ...told, ...data };
}

/** What was recognized in a file. */
export function readAs({ separator, list, lists = [], docTag, sheet, sheets = [] }: ReadAs): object {
  const short = (text: string) => cutText(text, FIELD_CHARS_MAX);
  return {
    ...(separator === undefined ? {} : { separator }),
    ...(docTag === undefined ? {} : { doc_tag: short(docTag) }),
    ...(sheet === undefined ? {} : { sheet: short(sheet) }),
    ...(sheets.length === 0 ? {} : { other_sheets: sheets.slice(0, LISTS_MAX).map(short) }),
    ...(list === undefined ? {} : { list_path: short(list.path) }),
    ...(list === undefined || list.beside.length === 0
      ? {}
      : { beside_list: list.beside.slice(0, LISTS_MAX).map(short) }),
    ...(lists.length === 0
      ? {}
      : { lists: lists.slice(0, LISTS_MAX).map(({ path, items }) => `${short(path)}: ${counted(items, 'items')}`) }),
  };
}

type ReadAs = Pick<FileFacts, 'list' | 'lists' | 'docTag' | 'sheet' | 'sheets'> & { separator?: string | undefined };

/** What another load of the same documents may have done. */
export function withoutIdWarning(withoutId: number, before: number): string[] {
  // Of a first load `without_id` tells, which is nothing to be warned of.
  if (withoutId === 0 || before === 0) return [];
  const held = before.toLocaleString('en-US');
  return [
    `${counted(withoutId, 'documents')} had no _id and got one; the collection had ${held} before, so if this file was loaded earlier, its documents are in twice: into a new collection with a unique "id_field" each comes once`,
  ];
}

/** How to address the fields in SQL. */
function addressed(inside: number, table: string, fields: LoadedFields | undefined): string {
  if (inside === 0) return '';
  if (fields === undefined) return 'describe_collection shows the fields';
  return fieldsAddressed({ table, ...fields });
}

/** How to write SQL with the fields that an answer lists. */
export function fieldsAddressed(found: Pick<Found, 'table' | 'paths' | 'jsons' | 'hasExtra'>): string {
  return `fields are text unless said; ${addressing({ ...found, ...UNKNOWN }).replace(/\.$/, '')}`;
}

/** What only counting all documents tells. */
const UNKNOWN = {
  hasTwins: false,
  hasNumberTexts: false,
  strays: [],
  leftAtTop: 0,
  leftBelow: 0,
  isDeeper: false,
};

const byPlace = (a: { at: number }, b: { at: number }) => a.at - b.at;

/** Numbers as text: `3, 7-9`. */
function rangesText(numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && number <= last[1] + 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(', ');
}

/** What to do where a load stopped since the file has ids that are no text, or times of another format. */
export function otherArgumentHint({ failed, target }: Pick<Load, 'failed' | 'target'>): string | undefined {
  // That of a collection stays.
  if (target.isMissing && failed.some(({ kind }) => kind === 'other_time_format'))
    return 'the times have another format, which the reason names: call again with "event_time": {"field": its name, "format": that one, "time_zone": where they were written}';
  const id = failed.find(({ kind }) => kind === 'id_is_number' || kind === 'id_is_nested');
  if (id === undefined) return undefined;
  const [what, takes] =
    id.kind === 'id_is_nested' ? ['objects or lists', 'takes their JSON text'] : ['numbers', 'takes them'];
  return `the file has ${what} as _id: call again with "id_field": "_id", which ${takes}`;
}

/** How to continue after a load that stopped. */
function stopHint(stoppedLoad: Load, inside: number): string[] {
  const { stopped, entries, failures, isCreated, target } = stoppedLoad;
  if (stopped === undefined) return [];
  const { isUnsure, isBroken } = stopped;
  const texts = [
    `the load stopped, ${counted(inside, 'documents')} ${inside === 1 ? 'is in and stays' : 'are in and stay'}`,
  ];
  if (isCreated && inside === 0) texts.push('the collection was created, and is empty as far as it is known');
  const other = otherArgumentHint(stoppedLoad);
  if (other !== undefined) return [...texts, other];
  const first = isBroken === true ? 'correct the file behind them and ' : '';
  const leaving = isBroken === true && failures > 0 ? '; "on_error": "skip" leaves out what is refused' : '';
  const from = entries > 0 ? ` with "skip": ${entries}` : '';
  if (!isUnsure) return [...texts, `to go on, ${first}call again${from}${leaving}`];
  const held = target.before + inside;
  return [
    ...texts,
    `whether some of the entries after number ${entries} are in too is not known; to go on, call again with "skip": ${entries}, which replaces those of them that are in; if they have no _id, first count the documents of the collection, and add to "skip" how many more than ${held} there are`,
  ];
}

/** Which refused entries are shown, and how. */
function failureHints({ failed, failedAt, failures, stopped }: Load, unit: FileFacts['unit']): string[] {
  if (failures === 0) return [];
  const texts = stopped === undefined ? ['what failed is not in; correct the file, and load again'] : [];
  if (failedAt.length > 0) {
    const more = `${failed.length} of ${failures} failures are shown with their reason`;
    const left = failures - failed.length - failedAt.length;
    texts.unshift(
      `${more}, and of ${failedAt.length} more the ${unit}s, in failed_at_${unit}s${left > 0 ? `; ${left} are not shown` : ''}`,
    );
  }
  return texts;
}

/** Which objects of a file that is a single one are the documents. */
function listHints(
  { format, list, lists = [] }: FileFacts,
  { format_params: asked }: LoadInput,
  inside: number,
): string[] {
  if (list !== undefined && asked?.list_path === undefined) {
    return [
      'the file is one object, and the items of its list at list_path are the documents ("list_path": "." in "format_params" makes the object the document)',
    ];
  }
  if (lists.length === 0) return [];
  const isIn = inside > 0 ? 'delete this document and ' : '';
  if (format === 'xml') {
    return [
      `one element was taken as a document, and others are in it several times (lists): if these are to be the documents, ${isIn}load again with their name as "doc_tag" in "format_params"`,
    ];
  }
  return [
    `the file is one document, with lists of objects in it (lists): if the items of one are to be the documents, ${isIn}load again with its path as "list_path" in "format_params"`,
  ];
}

function hints(file: FileFacts, load: Load, input: LoadInput, inside: number): string[] {
  const { format, asText, unit, nulled, sheets = [] } = file;
  const { stopped, entries } = load;
  const { skip = 0 } = input;
  const texts = [
    ...(load.isRemoved === true ? ['all was refused, so the collection that was created for it is removed again'] : []),
    ...stopHint(load, inside),
    ...failureHints(load, unit),
    ...listHints(file, input, inside),
    ...(inside > 0 ? quotesHints(load.target.collection) : []),
    ...load.warnings.hints,
  ];
  if (count(load, 'REPLACED') > 0)
    texts.push('REPLACED documents had an _id that was there before, or earlier in the file');
  if (nulled > 0) {
    texts.push(
      format === 'xlsx'
        ? `${nulled} cells held an error such as #DIV/0! and are left out`
        : `${nulled} values were NaN or infinite, which JSON has not, and are null`,
    );
  }
  if (sheets.length > 0) texts.push('only one sheet was read: "sheet" in "format_params" names another');
  if (asText.length > 0) {
    texts.push(
      'decimals_as_text names columns whose decimals have more digits than a number of a document keeps: all values of these are text, so CAST them AS DECIMAL in SQL',
    );
  }
  if (stopped === undefined && entries === 0) {
    const other = format === 'csv' ? ', only a line of names: if it is no CSV, give its "format"' : '';
    texts.push(`the file holds no documents${other}`);
  } else if (stopped === undefined && entries <= skip) {
    texts.push(`the file has ${entries} entries, so "skip": ${skip} leaves nothing to load`);
  }
  if (stopped === undefined && load.target.isMissing && load.isRemoved !== true)
    texts.push('the collection was not created');
  return texts;
}
