import type { Fenced } from '../fence.ts';
import { cutText, Room } from '../room.ts';
import type { InferredField } from './infer.ts';
import { count, endsCall, insideOf, type LoadedFile, type Target } from './load.ts';
import { fieldsAddressed, otherArgumentHint, readAs, withoutIdWarning } from './load-answer.ts';
import type { LoadInput } from './load-arguments.ts';
import type { Planned } from './load-plan.ts';
import { loadedFields } from './loaded-fields.ts';
import { quotesHints, tableOf } from './table-names.ts';
import type { ToolContext } from './tool.ts';

const ROOM = { bytesMax: 16_000, tokensMax: 4_500 };
/** For the fields of all collections together, of which each has an equal part. */
const FIELDS_TOKENS = { all: 3_000, most: 600, least: 60 };
const FAILED_MAX = 20;
const NAMES_MAX = 20;
const REASON_CHARS_MAX = 300;
/** Types of fields that have a day. */
const DATED = /\b(?:DATE|TIMESTAMP)\b/;

interface Loads {
  plan: readonly Planned[];
  loaded: readonly LoadedFile[];
  leftOut: readonly string[];
}

/** The answer of the load of several files: a line for each collection. */
export async function presentLoads(
  context: Pick<ToolContext, 'client' | 'signal'>,
  { plan, loaded, leftOut }: Loads,
  input: LoadInput,
): Promise<Fenced> {
  const { collections, left, addressed, dateless } = await collectionsOf(context, loaded);
  const stopped = loaded.find(({ load }) => endsCall(load));
  const broken = loaded.filter(({ load }) => load.stopped !== undefined && !endsCall(load));
  const notLoaded = plan.slice(loaded.length).map(({ found }) => found.name);
  const failures = sum(loaded, ({ load }) => load.failures);
  const inside = sum(loaded, ({ load }) => insideOf(load));
  const failed = loaded.flatMap(({ found, load, facts }) =>
    load.failed.map(({ at, error }) => ({ file: found.name, [facts?.unit ?? 'line']: at, error })),
  );
  const warnings = [
    ...withoutIdWarning(
      sum(loaded, ({ load }) => load.withoutId),
      Math.max(0, ...loaded.map(({ load }) => (load.withoutId > 0 ? load.target.before : 0))),
    ),
    ...fileWarnings(loaded),
    ...(loaded[0]?.load.warnings.shown().warnings ?? []),
  ];
  return {
    data: {
      complete: stopped === undefined && broken.length === 0,
      files: loaded.length - broken.length - (stopped === undefined ? 0 : 1),
      counts: countsOf(loaded, failures),
      ...(stopped === undefined
        ? {}
        : {
            stopped_in: stopped.found.name,
            entries: stopped.load.entries,
            stopped_because: stopped.load.stopped?.why,
            not_loaded: notLoaded.slice(0, NAMES_MAX),
            files_not_loaded: notLoaded.length,
          }),
      ...(broken.length > 0 ? { broken_files: broken.slice(0, NAMES_MAX).map(brokenFile) } : {}),
      collections,
      ...(left > 0 ? { collections_not_shown: left } : {}),
      ...(failed.length > 0 ? { failed: failed.slice(0, FAILED_MAX) } : {}),
      ...(leftOut.length > 0 ? { other_files: leftOut.slice(0, NAMES_MAX), files_of_no_format: leftOut.length } : {}),
      ...(warnings.length > 0 ? { warnings } : {}),
    },
    next: `${[
      ...stopHints(stopped, inside),
      ...(broken.length > 0
        ? [
            `broken_files are not loaded to their end, and what is in of them stays: do what each error says, and load them by themselves${broken.some(({ load }) => load.entries > 0) ? ', with their "skip"' : ''}${failures > 0 && input.on_error !== 'skip' ? '; "on_error": "skip" leaves out what is refused' : ''}`,
            ...new Set(broken.flatMap(({ load }) => otherArgumentHint(load) ?? [])),
          ]
        : []),
      ...(failures > 0 ? ['what failed is not in'] : []),
      ...(leftOut.length > 0 ? ['other_files are not loaded: give "format" for them'] : []),
      ...(loaded[0]?.load.warnings.hints ?? []),
      ...(input.file_field === undefined && isUntold(loaded, dateless) ? [FILE_FIELD_HINT] : []),
      ...(left > 0 ? ['list_workspace_collections shows the collections that are not shown'] : []),
      ...(loaded.some(({ facts }) => facts?.list !== undefined) && input.format_params?.list_path === undefined
        ? ['of a file with a list_path, the items of that list are the documents']
        : []),
      ...new Set(loaded.flatMap(({ load }) => (insideOf(load) > 0 ? quotesHints(load.target.collection) : []))),
      ...(inside > 0 ? [addressed] : []),
    ].join('; ')}.`,
    isError:
      stopped !== undefined ||
      (input.on_error === 'skip' ? failures + broken.length > 0 && inside === 0 : broken.length > 0),
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

function fileWarnings(loaded: readonly LoadedFile[]): string[] {
  const all = loaded.flatMap(({ found, facts }) => (facts?.warnings ?? []).map((one) => `${found.name}: ${one}`));
  const more = all.length - NAMES_MAX;
  return [...all.slice(0, NAMES_MAX), ...(more > 0 ? [`${more} more files have such warnings`] : [])];
}

function brokenFile({ found, load }: LoadedFile): object {
  return {
    file: found.name,
    error: cutText(load.stopped?.why ?? '', REASON_CHARS_MAX),
    documents_in: insideOf(load),
    ...(load.entries > 0 ? { skip: load.entries } : {}),
  };
}

function stopHints(stopped: LoadedFile | undefined, inside: number): string[] {
  if (stopped?.load.stopped === undefined) return [];
  const { load } = stopped;
  const { entries } = load;
  const { isUnsure, isBroken } = stopped.load.stopped;
  const texts = [
    `the load stopped in the file that stopped_in names; ${inside.toLocaleString('en-US')} documents are in and stay`,
  ];
  if (isUnsure) {
    texts.push(
      `whether some of its entries after number ${entries} are in too is not known: if they have no _id, count the documents first`,
    );
  }
  const other = otherArgumentHint(load);
  if (other !== undefined) return [...texts, other];
  texts.push(
    `to go on, ${isBroken === true ? 'correct that file and ' : ''}call again with the same "path", "from": its name${entries > 0 ? `, "skip": ${entries}` : ''}${isBroken === true ? '; "on_error": "skip" goes on by itself after errors' : ''}`,
  );
  return texts;
}

/** A line for each collection, as many as there is room for. */
async function collectionsOf(context: Pick<ToolContext, 'client' | 'signal'>, loaded: readonly LoadedFile[]) {
  const groups = new Map<Target, LoadedFile[]>();
  const there = loaded.filter(({ load }) => !load.target.isMissing);
  for (const one of there) groups.set(one.load.target, [...(groups.get(one.load.target) ?? []), one]);
  const room = new Room(ROOM);
  const { all, most, least } = FIELDS_TOKENS;
  const each = Math.max(least, Math.min(most, Math.floor(all / groups.size)));
  const collections: object[] = [];
  const paths: string[] = [];
  const jsons: InferredField[] = [];
  const dateless = new Set<Target>();
  let hasExtra = false;
  for (const [target, files] of groups) {
    const isIn = files.some(({ load }) => insideOf(load) > 0);
    const fields = isIn ? await loadedFields(context, tableOf(target), each) : undefined;
    const line = lineOf(target, files, fields?.text);
    if (isIn && !DATED.test(fields?.text ?? '')) dateless.add(target);
    if (!room.take(JSON.stringify(line))) break;
    collections.push(line);
    paths.push(...(fields?.paths ?? []));
    jsons.push(...(fields?.jsons ?? []));
    hasExtra ||= fields?.hasExtra === true;
  }
  const addressed = fieldsAddressed({ table: 'the collections', paths, jsons, hasExtra });
  return { collections, left: groups.size - collections.length, addressed, dateless };
}

function lineOf(target: Target, files: readonly LoadedFile[], fields: string | undefined): object {
  const [first] = files;
  const numbers = Object.entries({
    added: sum(files, ({ load }) => count(load, 'ADDED')),
    replaced: sum(files, ({ load }) => count(load, 'REPLACED')),
    failed: sum(files, ({ load }) => load.failures),
    without_id: sum(files, ({ load }) => load.withoutId),
  }).filter(([, number]) => number > 0);
  return {
    collection: tableOf(target),
    ...(files.length === 1 ? { file: first?.found.name } : { files: files.length }),
    ...(files.length === 1 && first?.facts !== undefined ? readAs(first.facts) : {}),
    ...(files.some(({ load }) => load.isCreated) ? { created: true } : {}),
    ...(target.before > 0 ? { documents_before: target.before } : {}),
    ...Object.fromEntries(numbers),
    ...(fields === undefined ? {} : { fields }),
  };
}

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
