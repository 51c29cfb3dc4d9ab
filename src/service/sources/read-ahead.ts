/**
 * Takes what `read` yields in order, each by `take`, whose `before` resolves when the one before it is taken. Meanwhile the next is
 * read, and begun to be taken. Rejects with the first failure of `take`, or else with that of `read`, when nothing of both runs
 * any more.
 */
export async function readAhead<Batch>(
  read: (signal: AbortSignal) => AsyncIterable<Batch>,
  take: (batch: Batch, before: Promise<void>) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const reading = new AbortController();
  const batches = read(AbortSignal.any([signal, reading.signal]))[Symbol.asyncIterator]();
  let failure: { error: unknown } | undefined;
  let unread: { error: unknown } | undefined;
  let taking = Promise.resolve();
  try {
    let next = batches.next();
    for (;;) {
      const { done, value: batch } = await next;
      if (done === true) break;
      next = batches.next();
      // Its failure is met when it is awaited.
      next.catch(() => undefined);
      const before = taking;
      taking = take(batch, before);
      taking.catch((error: unknown) => {
        failure ??= { error };
        // Nothing may come that would be waited for.
        reading.abort(error);
      });
      await before;
    }
    await taking;
  } catch (error) {
    unread = { error };
  }
  // What was read ahead may wait for something that does not come.
  reading.abort();
  await batches.return?.(undefined).then(undefined, () => undefined);
  await taking.catch(() => undefined);
  const first = failure ?? unread;
  if (first !== undefined) throw first.error;
}
