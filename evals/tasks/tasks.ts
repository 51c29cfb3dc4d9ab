import type { Data, SetName } from '../data/files.ts';
import { fileOf, SETS } from '../data/files.ts';
import { ADMIN } from './admin.ts';
import { AUTHOR } from './author.ts';
import { EXPLORE } from './explore.ts';
import { INJECTIONS } from './injections.ts';
import { KINDS, type Task } from './task.ts';

const FIRST: readonly SetName[] = ['countries', 'airports', 'releases'];

/** From files to a first answer: what it takes to get data in. */
const FILES: Task = {
  id: 'first-query',
  kind: 'files',
  question: ({ files }) =>
    `In the folder ${files} are the files ${FIRST.map(fileOf).join(', ')}. Get them in, each as a set (collection, table, …) of its ` +
    'own, in a workspace, schema or database named first if there is such a thing. How many records does each have?',
  form: 'an object: countries, airports, releases, each a number',
  truth: (data: Data) => ({ counts: Object.fromEntries(FIRST.map((set) => [set, data[set].length])) }),
};

export const TASKS: readonly Task[] = [FILES, ...EXPLORE, ...AUTHOR, ...ADMIN, ...INJECTIONS];

/** The tasks of these kinds and ids, separated by commas; undefined: all. */
export function chosenTasks(wanted: string | undefined): readonly Task[] {
  if (wanted === undefined) return TASKS;
  const names = wanted.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !TASKS.some(({ id, kind }) => id === name || kind === name));
  if (unknown.length > 0) {
    const ids = TASKS.map(({ id }) => id).join(', ');
    throw new Error(`no tasks are called ${unknown.join(', ')}: there are ${KINDS.join(', ')}, and of these ${ids}`);
  }
  return TASKS.filter(({ id, kind }) => names.includes(id) || names.includes(kind));
}

/** The sets that these tasks are about, to be loaded before. */
export function setsOf(tasks: readonly Task[]): readonly SetName[] {
  return SETS.filter((set) => tasks.some(({ sets = [] }) => sets.includes(set)));
}

const ABOUT: Record<SetName, string> = {
  countries: 'the countries of the world',
  airports: 'airports',
  releases: 'releases of browsers and runtimes',
  properties: 'CSS properties and the browsers that support them',
  features: 'features of the web and the browsers that support them',
  reviews: 'reviews of products',
  survey: 'answers of a survey',
};

/** What the player is told: the question, what data there are, and how to answer. */
export function questionOf(task: Task, files: string): string {
  const { question, form, sets = [] } = task;
  const asked = typeof question === 'string' ? question : question({ files });
  const which = SETS.filter((set) => sets.includes(set)).map((set) => `${set} (${ABOUT[set]})`);
  const data = which.length === 0 ? '' : `\nThe data are in: ${which.join(', ')}.`;
  return `${asked}${data}\nThe form of the answer: ${form}.`;
}
