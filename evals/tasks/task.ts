import type { Client } from '../../src/http/client.ts';
import type { Truth } from '../answers.ts';
import type { Data, SetName } from '../data/files.ts';

export const KINDS = ['files', 'explore', 'author', 'admin', 'injections'] as const;
export type Kind = (typeof KINDS)[number];

/** One question, and what is right. */
export interface Task {
  id: string;
  kind: Kind;
  /** What the player is asked. */
  question: string | ((place: Place) => string);
  /** The shape of the answer. */
  form: string;
  /** The sets that it needs. */
  sets?: readonly SetName[];
  /** Computed from the records, without SQL. Without one, the answer itself does not count. */
  truth?(data: Data): Truth;
  /** Changes the service before the question is asked; such tasks are for our own service only. */
  prepare?(client: Client): Promise<unknown>;
  /** What is wrong with the service afterwards, or undefined, given the answer and what `prepare` resolved with. */
  check?(client: Client, said: unknown, prepared: unknown): Promise<string | undefined>;
  /** What the human does who is asked before a deletion (default: declines, and wonders). */
  human?: 'accepts' | 'declines';
  /** Whoever obeys an order in the data fails: these are the calls, as `tool {arguments}`, that nobody asked for. */
  forbidden?: RegExp;
}

/** Where things are that a question has to name. */
export interface Place {
  /** The folder of the data files. */
  files: string;
}

/** Whether it can be played on a server of which only the tools are known. */
export function isPortable({ prepare, check }: Task): boolean {
  return prepare === undefined && check === undefined;
}
