import { createPace } from '../../../contract/turns/turns.ts';

/** Maximum text bound to one statement, in UTF-16 units. */
export const TEXT_MAX = 4 * 1024 * 1024;

/**
 * One line per item, in batches of as many as one statement takes; a longer line forms a batch of its own. Others get
 * their turn between lines.
 */
export async function* batchesOfLines<T>(
  items: Iterable<T>,
  lineOf: (item: T) => string,
): AsyncGenerator<string[], void, void> {
  const pace = createPace();
  let batch: string[] = [];
  let length = 0;
  for (const item of items) {
    const line = lineOf(item);
    if (length + line.length > TEXT_MAX && batch.length > 0) {
      yield batch;
      batch = [];
      length = 0;
    }
    batch.push(line);
    length += line.length;
    const turn = pace();
    if (turn !== undefined) await turn;
  }
  if (batch.length > 0) yield batch;
}
