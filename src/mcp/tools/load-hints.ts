import { counted } from '../../contract/in-words.ts';
import { type FileFacts, insideOf, type Load, type LoadedFile } from './load.ts';
import type { LoadInput } from './load-arguments.ts';
import type { Planned } from './load-plan.ts';
import { quotesHints } from './table-names.ts';

/** What to do after a load, in the words of its answer. */

/** The files of a call: those that it means, those that were dealt with, and those beside them of no format. */
export interface Loads {
  plan: readonly Planned[];
  loaded: readonly LoadedFile[];
  leftOut: readonly string[];
}

interface Told {
  /** The file that ended the load. */
  stopped: LoadedFile | undefined;
  /** Those that are not loaded to their end, after which it went on. */
  broken: readonly LoadedFile[];
  /** Documents that are in. */
  inside: number;
  failures: number;
}

/** All but how to address the fields. */
export function loadHints(
  { plan, loaded, leftOut }: Loads,
  input: LoadInput,
  { stopped, broken, inside, failures }: Told,
): string[] {
  const facts = loaded.flatMap(({ facts: of }) => of ?? []);
  const [only] = plan.length === 1 ? loaded : [];
  return [
    ...(loaded.some(({ load }) => load.isRemoved === true)
      ? ['all was refused, so the collection that was created for it is removed again']
      : []),
    ...(stopped === undefined ? [] : stopHints(stopped, loaded, inside, only !== undefined)),
    ...brokenHints(broken, input, failures),
    ...failureHints(only, failures, stopped !== undefined),
    ...(leftOut.length > 0 ? ['other_files are not loaded: give "format" for them'] : []),
    ...(loaded[0]?.load.warnings.hints ?? []),
    ...factHints(facts, input, inside),
    ...new Set(loaded.flatMap(({ load }) => (insideOf(load) > 0 ? quotesHints(load.target.collection) : []))),
    ...(only === undefined ? [] : emptyHints(only, input)),
  ];
}

/** How to continue after a load that stopped. */
function stopHints({ load }: LoadedFile, loaded: readonly LoadedFile[], inside: number, isOne: boolean): string[] {
  const { stopped, entries, failures, isCreated, target } = load;
  const { isUnsure, isBroken } = stopped ?? {};
  const texts = [
    `the load stopped${isOne ? '' : ' in the file that stopped_in names'}, ${counted(inside, 'documents')} ${inside === 1 ? 'is in and stays' : 'are in and stay'}`,
  ];
  if (isCreated && insideOf(load) === 0) texts.push('the collection was created, and is empty as far as it is known');
  const other = otherArgumentHint(load);
  if (other !== undefined) return [...texts, other];
  const again = `call again${isOne ? '' : ' with the same "path", "from": its name'}`;
  if (isUnsure === true) {
    const ofTarget = loaded.filter((one) => one.load.target === target);
    const held = target.before + ofTarget.reduce((sum, one) => sum + insideOf(one.load), 0);
    return [
      ...texts,
      `whether some of the entries after number ${entries} are in too is not known; to go on, ${again}${isOne ? ' with' : ','} "skip": ${entries}, which replaces those of them that are in; if they have no _id, first count the documents of the collection, and add to "skip" how many more than ${held} there are`,
    ];
  }
  const first = isBroken === true ? 'correct the file and ' : '';
  const leaving = isBroken === true && failures > 0 ? '; "on_error": "skip" leaves out what is refused' : '';
  const from = entries > 0 ? `${isOne ? ' with' : ','} "skip": ${entries}` : '';
  return [...texts, `to go on, ${first}${again}${from}${leaving}`];
}

function brokenHints(broken: readonly LoadedFile[], input: LoadInput, failures: number): string[] {
  if (broken.length === 0) return [];
  const skip = broken.some(({ load }) => load.entries > 0) ? ', with their "skip"' : '';
  const leaving = failures > 0 && input.on_error !== 'skip' ? '; "on_error": "skip" leaves out what is refused' : '';
  return [
    `broken_files are not loaded to their end, and what is in of them stays: do what each error says, and load them by themselves${skip}${leaving}`,
    ...new Set(broken.flatMap(({ load }) => otherArgumentHint(load) ?? [])),
  ];
}

/** What to do where a load stopped since the file has ids that are no text, or times of another format. */
function otherArgumentHint({ failed, target }: Pick<Load, 'failed' | 'target'>): string | undefined {
  // That of a collection stays.
  if (target.isMissing && failed.some(({ kind }) => kind === 'other_time_format'))
    return 'the times have another format, which the reason names: call again with "event_time": {"field": its name, "format": that one, "time_zone": where they were written}';
  const id = failed.find(({ kind }) => kind === 'id_is_number' || kind === 'id_is_nested');
  if (id === undefined) return undefined;
  const [what, takes] =
    id.kind === 'id_is_nested' ? ['objects or lists', 'takes their JSON text'] : ['numbers', 'takes them'];
  return `the file has ${what} as _id: call again with "id_field": "_id", which ${takes}`;
}

/** Which refused entries are shown, and how. */
function failureHints(only: LoadedFile | undefined, failures: number, isStopped: boolean): string[] {
  if (failures === 0) return [];
  const texts = isStopped ? [] : ['what failed is not in: correct it, and load again'];
  const { failed = [], failedAt = [] } = only?.load ?? {};
  if (failedAt.length > 0) {
    const left = failures - failed.length - failedAt.length;
    const unit = only?.facts?.unit ?? 'line';
    texts.unshift(
      `${failed.length} of ${failures} failures are shown with their reason, and of ${failedAt.length} more the ${unit}s, in failed_at_${unit}s${left > 0 ? `; ${left} are not shown` : ''}`,
    );
  }
  return texts;
}

/** What was made of values, and which objects of a file are the documents. */
function factHints(facts: readonly FileFacts[], { format_params: asked }: LoadInput, inside: number): string[] {
  const isIn = inside > 0 ? 'delete this document and ' : '';
  const whole = facts.filter(({ lists = [] }) => lists.length > 0);
  const nulled = facts.filter(({ nulled: count }) => count > 0);
  const texts: [boolean, string][] = [
    [
      facts.some(({ list }) => list !== undefined) && asked?.list_path === undefined,
      'the items at list_path are the documents ("list_path": "." in "format_params": the object is one)',
    ],
    [
      whole.some(({ format }) => format === 'xml'),
      `one element was taken as a document, and others are in it several times (lists): if these are to be the documents, ${isIn}load again with their name as "doc_tag" in "format_params"`,
    ],
    [
      whole.some(({ format }) => format !== 'xml'),
      `the file is one document, with lists of objects in it (lists): if the items of one are to be the documents, ${isIn}load again with its path as "list_path" in "format_params"`,
    ],
    [nulled.some(({ format }) => format === 'xlsx'), 'error_cells held an error such as #DIV/0! and are left out'],
    [nulled.some(({ format }) => format !== 'xlsx'), 'values_made_null were NaN or infinite, which JSON has not'],
    [
      facts.some(({ sheets = [] }) => sheets.length > 0),
      'only one sheet was read: "sheet" in "format_params" names another',
    ],
    [
      facts.some(({ asText }) => asText.length > 0),
      'decimals_as_text names columns whose decimals have more digits than a number of a document keeps: all values of these are text, so CAST them AS DECIMAL in SQL',
    ],
  ];
  return texts.flatMap(([isSo, text]) => (isSo ? [text] : []));
}

/** Why a file that was read has nothing to load. */
function emptyHints({ load, facts }: LoadedFile, { skip = 0 }: LoadInput): string[] {
  const { stopped, entries, target, isRemoved } = load;
  if (stopped !== undefined) return [];
  const texts: string[] = [];
  if (entries === 0) {
    const other = facts?.format === 'csv' ? ', only a line of names: if it is no CSV, give its "format"' : '';
    texts.push(`the file holds no documents${other}`);
  } else if (entries <= skip) {
    texts.push(`the file has ${entries} entries, so "skip": ${skip} leaves nothing to load`);
  }
  if (target.isMissing && isRemoved !== true) texts.push('the collection was not created');
  return texts;
}
