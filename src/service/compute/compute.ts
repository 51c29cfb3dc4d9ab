import { totalmem } from 'node:os';
import type { Logger } from 'pino';
import type { Size } from '../../contract/virtual-instances.ts';
import type { Engine, EngineLimits } from '../../engine/engine.ts';
import { type Catalog, put } from '../catalog/catalog.ts';
import { requireVirtualInstance } from '../catalog/not-found.ts';
import { SELF } from '../catalog/records.ts';
import { DEFAULT_SIZE, engineSizeOf, largestFitting, type Machine } from './sizes.ts';

/** The size of the engine while the service runs. */
export interface Compute {
  readonly machine: Machine;
  /** The size in effect. */
  readonly size: Size;
  /** Applies a size and stores it, or does neither. The caller checks that it fits. */
  resize(size: Size): Promise<void>;
}

/**
 * Applies the stored size, also whenever another process stores one, or, if the machine or the operator's limits have become smaller, the largest size that fits;
 * the stored size stays as it is, in case they grow again.
 */
export async function openCompute(
  engine: Pick<Engine, 'size' | 'resize' | 'onRecords'>,
  catalog: Catalog,
  limits: Partial<EngineLimits> | undefined,
  log: Logger,
): Promise<Compute> {
  // Before any resize the engine has the operator's limits, or its own defaults.
  const { threads, memoryBytes } = engine.size;
  const most = Math.max(memoryBytes, Math.floor((totalmem() * 3) / 4));
  const machine = { threads, memoryBytes, memoryBytesMax: limits?.memoryBytes ?? most };
  let size = DEFAULT_SIZE;
  let last: Promise<unknown> = Promise.resolve();

  async function apply(next: Size): Promise<void> {
    await engine.resize(engineSizeOf(next, machine));
    size = next;
  }

  async function applyAndStore(next: Size): Promise<void> {
    const before = size;
    await apply(next);
    try {
      await catalog.change(() => ({
        changes: [put('virtualInstance', SELF, { ...requireVirtualInstance(catalog), size: next })],
        result: undefined,
      }));
    } catch (error) {
      await apply(before);
      throw error;
    }
  }

  async function applyStored(): Promise<void> {
    const wanted = requireVirtualInstance(catalog).size;
    const next = largestFitting(wanted, machine);
    if (next !== wanted) log.warn({ wanted, size: next }, 'the stored size is larger than the service has now');
    // A service of the wrong size is better than none.
    if (next !== size)
      await apply(next).catch((error: unknown) => log.error({ err: error }, 'cannot resize the engine'));
  }

  await applyStored();
  // The catalog, which listened first, has the record by then.
  engine.onRecords((changes) => {
    if (changes.some((change) => change.do === 'putRecord' && change.kind === 'virtualInstance'))
      last = last.then(applyStored);
  });

  return {
    machine,
    get size() {
      return size;
    },
    resize(next) {
      const done = last.then(() => applyAndStore(next));
      // The next resize waits for this one, whether it succeeds or not.
      last = done.catch(() => undefined);
      return done;
    },
  };
}
