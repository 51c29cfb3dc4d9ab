import { ApiError } from '../../contract/errors.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import type { CallContext } from '../context.ts';
import type { LoadOptions, LoadOutcome, LoadSample } from './loading.ts';

export async function loadRows(
  _c: CallContext,
  _r: CollectionRecord,
  _b: AsyncIterable<Buffer>,
  _o: LoadOptions,
): Promise<LoadOutcome> {
  throw new ApiError('invalid_input', 'not yet');
}

export async function sampleRows(
  _c: CallContext,
  _b: AsyncIterable<Buffer>,
  _o: LoadOptions,
  _max: number,
): Promise<LoadSample> {
  throw new ApiError('invalid_input', 'not yet');
}
