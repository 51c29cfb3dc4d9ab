import { ApiError } from '../../../contract/errors.ts';
import { engineErrorText } from './engine-error.ts';

/** Whether a file could not be opened because another process has it open. */
export function isHeldError(error: unknown): boolean {
  return /Could not set lock|Conflicting lock|being used by another process/i.test(engineErrorText(error));
}

/** The contract's error for it. */
export function heldError(file: string, cause: unknown): ApiError {
  const holder = /\(PID (\d+)\)/.exec(engineErrorText(cause))?.[1];
  const who = holder === undefined ? 'another process' : `process ${holder}`;
  return new ApiError(
    'not_ready',
    `Cannot open the database ${JSON.stringify(file)}: ${who} has it open. Stop that process, or use another data folder.`,
    { cause },
  );
}
