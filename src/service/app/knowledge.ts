import type { Engine } from '../../engine/engine.ts';

/** What was known at the beginning of a request is old after so long: others may have changed it since. */
const OLD_MS = 100;

/**
 * To be awaited before something is looked up once more for a request that has waited, for its body perhaps: what others
 * changed meanwhile is known then.
 */
export async function lookAgain(
  engine: Pick<Engine, 'refresh'>,
  { startedAt }: { /** As `performance.now()` gave it. */ startedAt: number },
): Promise<void> {
  if (performance.now() - startedAt > OLD_MS) await engine.refresh();
}
