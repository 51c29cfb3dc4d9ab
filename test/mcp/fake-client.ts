import { type AnyOperation, allRows } from '../../src/contract/contract.ts';
import { ApiError } from '../../src/contract/errors.ts';
import type { CallOptions, Client } from '../../src/http/client.ts';

type Answer = (input: Record<string, unknown>, options: CallOptions) => unknown;

export interface FakeClient {
  client: Client;
  /** The calls, in order. */
  calls: { operation: AnyOperation; input: Record<string, unknown>; signal: AbortSignal | undefined }[];
}

/** A client that gives these answers, and fails on any other operation. */
export function fakeClient(answers: Partial<Record<AnyOperation, Answer>>): FakeClient {
  const calls: FakeClient['calls'] = [];
  const operations = (Object.keys(allRows) as AnyOperation[]).map((operation) => {
    const call = async (input: Record<string, unknown>, options: CallOptions = {}) => {
      calls.push({ operation, input, signal: options.signal });
      const answer = answers[operation];
      if (answer === undefined) throw new Error(`unexpected call of ${operation}`);
      return answer(input, options);
    };
    return [operation, call];
  });
  const client = { ...Object.fromEntries(operations), close: async () => undefined } as unknown as Client;
  return { client, calls };
}

export function notFound(message: string): ApiError {
  return new ApiError('not_found', message);
}
