import type { Input, Operation } from '../../src/contract/contract.ts';
import type { NotFoundKey } from '../../src/contract/errors.ts';
import type { Client } from '../../src/http/client.ts';
import { dataExamples } from './data-examples.ts';
import { lambdaExamples } from './lambda-examples.ts';
import { organizationExamples } from './organization-examples.ts';

/** Whose key is used: that of a user with this role, or one that nobody has. */
export type Caller = 'admin' | 'read-only' | 'nobody';

/**
 * Creates what a call needs, and returns the call's arguments. `name` is not in use yet and may be used for anything.
 */
export type Arrange<K extends Operation> = (client: Client, name: string) => Input<K> | Promise<Input<K>>;

export interface Success<K extends Operation> {
  input: Arrange<K>;
  /** What the result in the raw answer must match. */
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

/** How an operation succeeds and how it fails: one example each. */
export interface Example<K extends Operation> {
  success: Success<K>;
  failure: Failure<K>;
}

export type Examples<K extends Operation = Operation> = { readonly [O in K]: Example<O> };

/** One entry per row of the contract: a missing one does not compile, and fails the suite. */
export const EXAMPLES: Examples = { ...dataExamples, ...lambdaExamples, ...organizationExamples };
