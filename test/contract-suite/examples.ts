import type { Input, Operation } from '../../src/contract/contract.ts';
import type { NotFoundKey } from '../../src/contract/errors.ts';
import type { Client } from '../../src/http/client.ts';
import { dataExamples } from './data-examples.ts';
import { lambdaExamples } from './lambda-examples.ts';
import { organizationExamples } from './organization-examples.ts';

/** Who calls: a user's key by its role, or a key that nobody has. */
export type Caller = 'admin' | 'read-only' | 'nobody';

/** Puts in place what a call needs, and answers the call's arguments. `name` is unused so far, and good for anything. */
export type Arrange<K extends Operation> = (client: Client, name: string) => Input<K> | Promise<Input<K>>;

export interface Success<K extends Operation> {
  input: Arrange<K>;
  /** What the raw answer's result must be like. */
  result?: object;
}

export interface Failure<K extends Operation> {
  input: Arrange<K>;
  as?: Caller;
  status: number;
  type: string;
  key?: NotFoundKey;
  message?: RegExp;
}

/** How an operation succeeds and how it fails, one example each. */
export interface Example<K extends Operation> {
  success: Success<K>;
  failure: Failure<K>;
}

export type Examples<K extends Operation = Operation> = { readonly [O in K]: Example<O> };

/** One entry per row of the contract: a missing one does not compile, and fails the suite. */
export const EXAMPLES: Examples = { ...dataExamples, ...lambdaExamples, ...organizationExamples };
