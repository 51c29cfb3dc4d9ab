import { counted } from '../../contract/in-words.ts';
import type { Fenced } from '../fence.ts';
import { cutText, Room } from '../room.ts';
import { addressing, type Found } from './addressing.ts';
import { count, endsCall, type FileFacts, insideOf, type LoadedFile, type Target } from './load.ts';
import type { LoadInput } from './load-arguments.ts';
import { type Loads, loadHints } from './load-hints.ts';
import { loadedFields } from './loaded-fields.ts';
import { tableOf } from './table-names.ts';
import type { ToolContext } from './tool.ts';

const ROOM = { bytesMax: 16_000, tokensMax: 4_500 };
/** For the fields of all collections together, of which each has an equal part. */
const FIELDS_TOKENS = { all: 3_000, most: 600, least: 60, ofOneFile: 1_500 };
const FAILED_MAX = 20;
const NAMES_MAX = 20;
const REASON_CHARS_MAX = 300;
const FIELD_CHARS_MAX = 200;
const LISTS_MAX = 10;
/** Types of fields that have a day. */
const DATED = /\b(?:DATE|TIMESTAMP)\b/;

/** The answer of a finished load: a line for each collection, which of one file is the answer itself. */
export async function presentLoads(
  context: Pick<ToolContext, 'client' | 'signal'>,
  { plan, loaded, leftOut }: Loads,
  input: LoadInput,
): Promise<Fenced> {
  const isOne = plan.length === 1;
  const { collections, left, addressed, dateless } = await collectionsOf(context, loaded, isOne);
  const stopped = loaded.find(({ load }) => endsCall(load));
  const broken = loaded.filter(({ load }) => load.stopped !== undefined && !endsCall(load));
  const notLoaded = plan.slice(loaded.length).map(({ found }) => found.name);
  const failures = sum(loaded, ({ load }) => load.failures);
  const inside = sum(loaded, ({ load }) => insideOf(load));
  const warnings = warningsOf(loaded, isOne);
  return {
    data: {
      complete: stopped === undefined && broken.length === 0,
      ...(isOne ? {} : { files: loaded.length - broken.length - (stopped === undefined ? 0 : 1) }),
      counts: countsOf(loaded, failures),
      ...(stopped === undefined
        ? {}
        : {
            ...(isOne ? {} : { stopped_in: stopped.found.name }),
            entries: stopped.load.entries,
            stopped_because: stopped.load.stopped?.why,
            ...(isOne ? {} : { not_loaded: notLoaded.slice(0, NAMES_MAX), files_not_loaded: notLoaded.length }),
          }),
      ...(broken.length > 0 ? { broken_files: broken.slice(0, NAMES_MAX).map(brokenFile) } : {}),
      ...(isOne ? collections[0] : { collections }),
      ...(left > 0 ? { collections_not_shown: left } : {}),
      ...failedOf(loaded, isOne),
      ...(leftOut.length > 0 ? { other_files: leftOut.slice(0, NAMES_MAX), files_of_no_format: leftOut.length } : {}),
      ...(warnings.length > 0 ? { warnings } : {}),
    },
    brief: (data) => briefLoads(data, input.path),
    next: `${[
      ...loadHints({ plan, loaded, leftOut }, input, { stopped, broken, inside, failures }),
      ...(input.file_field === undefined && isUntold(loaded, dateless) ? [FILE_FIELD_HINT] : []),
      ...(left > 0 ? ['list_workspace_collections shows the collections that are not shown'] : []),
      ...(inside > 0 ? [addressed] : []),
    ].join('; ')}.`,
    isError:
      stopped !== undefined ||
      (broken.length > 0 && input.on_error !== 'skip') ||
      (failures + broken.length > 0 && inside === 0),
  };
}

/** Without what goes without saying: the one file that `path` names, the format that its name says, and that all of it is in. */
function briefLoads({ file, complete, format, ...data }: Fenced['data'], path: LoadInput['path']): Fenced['data'] {
  const isNamed = [path].flat().some((one) => `/${one}`.endsWith(`/${file}`));
  return {
    ...(complete === true ? {} : { complete }),
    ...(isNamed || file === undefined ? {} : { file }),
    ...(format === undefined || String(file).endsWith(`.${format}`) ? {} : { format }),
    ...data,
  };
}

const FILE_FIELD_HINT =
  'no date field tells which file a document is of, and the names of the files do: "file_field": "file" puts them into a field, at a load into a new collection';

/** Whether files of one of these collections have names that differ by numbers, such as those of months. */
function isUntold(loaded: readonly LoadedFile[], targets: ReadonlySet<Target>): boolean {
  return [...targets].some((target) => {
    const names = loaded.filter(({ load }) => load.target === target).map(({ found }) => found.name);
    const alike = new Set(names.map((name) => name.replaceAll(/\d+/g, '0')));
    return names.length > 1 && alike.size === 1;
  });
}

function warningsOf(loaded: readonly LoadedFile[], isOne: boolean): string[] {
  const withoutId = loaded.filter(({ load }) => load.withoutId > 0 && load.target.before > 0);
  const ofFiles = loaded.flatMap(({ found, facts }) =>
    (facts?.warnings ?? []).map((one) => (isOne ? one : `${found.name}: ${one}`)),
  );
  const more = ofFiles.length - NAMES_MAX;
  return [
    ...withoutIdWarning(
      sum(withoutId, ({ load }) => load.withoutId),
      Math.max(0, ...withoutId.map(({ load }) => load.target.before)),
    ),
    ...ofFiles.slice(0, NAMES_MAX),
    ...(more > 0 ? [`${more} more files have such warnings`] : []),
    ...(loaded[0]?.load.warnings.shown().warnings ?? []),
  ];
}

/** What another load of the same documents has done, if there was one. */
function withoutIdWarning(withoutId: number, before: number): string[] {
  if (withoutId === 0) return [];
  const held = before.toLocaleString('en-US');
  return [
    `${counted(withoutId, 'documents')} had no _id and got one; the collection had ${held} before, so if this file was loaded earlier, its documents are in twice: into a new collection with a unique "id_field" each comes once`,
  ];
}

function brokenFile({ found, load }: LoadedFile): object {
  return {
    file: found.name,
    error: cutText(load.stopped?.why ?? '', REASON_CHARS_MAX),
    documents_in: insideOf(load),
    ...(load.entries > 0 ? { skip: load.entries } : {}),
  };
}

/** The refused entries: some with their reasons, and of one file the places of more. */
function failedOf(loaded: readonly LoadedFile[], isOne: boolean): object {
  const failed = loaded.flatMap(({ found, load, facts }) =>
    load.failed.map(({ at, id, error }) => ({
      ...(isOne ? {} : { file: found.name }),
      [unitOf(facts)]: at,
      ...(id === null ? {} : { _id: id }),
      error,
    })),
  );
  const [only] = loaded;
  const places = isOne && only !== undefined ? only.load.failedAt : [];
  return {
    ...(failed.length > 0 ? { failed: failed.slice(0, FAILED_MAX) } : {}),
    ...(places.length > 0 ? { [`failed_at_${unitOf(only?.facts)}s`]: rangesText(places) } : {}),
  };
}

const unitOf = (facts: FileFacts | undefined) => facts?.unit ?? 'line';

/** Numbers in their order as text: `3, 7-9`. */
function rangesText(numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last !== undefined && number <= last[1] + 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(', ');
}

/** A line for each collection, as many as there is room for. */
async function collectionsOf(
  context: Pick<ToolContext, 'client' | 'signal'>,
  loaded: readonly LoadedFile[],
  isOne: boolean,
) {
  const groups = new Map<Target, LoadedFile[]>();
  const there = loaded.filter(({ load }) => isOne || !load.target.isMissing);
  for (const one of there) groups.set(one.load.target, [...(groups.get(one.load.target) ?? []), one]);
  const room = new Room(ROOM);
  const { all, most, least, ofOneFile } = FIELDS_TOKENS;
  const each = isOne ? ofOneFile : Math.max(least, Math.min(most, Math.floor(all / groups.size)));
  const collections: object[] = [];
  const found = { paths: [] as string[], jsons: [] as { path: string }[], hasExtra: false };
  const dateless = new Set<Target>();
  let isKnown = false;
  for (const [target, files] of groups) {
    const isIn = files.some(({ load }) => insideOf(load) > 0);
    const fields = isIn ? await loadedFields(context, tableOf(target), each) : undefined;
    const line = { ...lineOf(target, files, isOne), ...(fields?.text ? { fields: fields.text } : {}) };
    if (isIn && !DATED.test(fields?.text ?? '')) dateless.add(target);
    if (!isOne && !room.take(JSON.stringify(line))) break;
    collections.push(line);
    isKnown ||= fields !== undefined;
    found.paths.push(...(fields?.paths ?? []));
    found.jsons.push(...(fields?.jsons ?? []));
    found.hasExtra ||= fields?.hasExtra === true;
  }
  const [target] = groups.keys();
  const table = groups.size === 1 && target !== undefined ? tableOf(target) : 'the collections';
  const addressed = isKnown ? fieldsAddressed({ table, ...found }) : 'describe_collection shows the fields';
  return { collections, left: groups.size - collections.length, addressed, dateless };
}

/** How to write SQL with the fields that an answer lists. */
function fieldsAddressed(found: Pick<Found, 'table' | 'paths' | 'jsons' | 'hasExtra'>): string {
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

/** Of one file, `counts` has the numbers. */
function lineOf(target: Target, files: readonly LoadedFile[], isOne: boolean): object {
  const [first] = files;
  const facts = files.length === 1 ? first?.facts : undefined;
  const numbers = Object.entries({
    added: isOne ? 0 : sum(files, ({ load }) => count(load, 'ADDED')),
    replaced: isOne ? 0 : sum(files, ({ load }) => count(load, 'REPLACED')),
    failed: isOne ? 0 : sum(files, ({ load }) => load.failures),
    without_id: sum(files, ({ load }) => load.withoutId),
    error_cells: sum(files, ({ facts: of }) => (of?.format === 'xlsx' ? of.nulled : 0)),
    values_made_null: sum(files, ({ facts: of }) => (of?.format === 'xlsx' ? 0 : (of?.nulled ?? 0))),
  }).filter(([, number]) => number > 0);
  return {
    ...(isOne ? { format: facts?.format } : {}),
    collection: tableOf(target),
    ...(files.length === 1 ? { file: first?.found.name } : { files: files.length }),
    ...(facts === undefined ? {} : readAs(facts)),
    ...(files.some(({ load }) => load.isCreated) ? { created: true } : {}),
    ...(target.before > 0 ? { documents_before: target.before } : {}),
    ...Object.fromEntries(numbers),
    ...(facts !== undefined && facts.asText.length > 0 ? { decimals_as_text: facts.asText } : {}),
  };
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

function countsOf(loaded: readonly LoadedFile[], failures: number): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { load } of loaded) {
    for (const [status, number] of Object.entries(load.counts)) counts[status] = (counts[status] ?? 0) + number;
  }
  return failures > 0 ? { ...counts, ERROR: failures } : counts;
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((all, item) => all + of(item), 0);
}
