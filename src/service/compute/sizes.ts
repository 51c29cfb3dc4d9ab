import { SIZES, type Size } from '../../contract/virtual-instances.ts';
import type { EngineSize } from '../../engine/engine.ts';

/** What the machine, or the operator, grants the engine. */
export interface Machine {
  threads: number;
  /** The memory of the size LARGE. */
  memoryBytes: number;
  /** The most memory that any size may have. */
  memoryBytesMax: number;
}

/** The engine is of little use with less, so smaller sizes get this much too, if LARGE has it. */
const MEMORY_BYTES_MIN = 512 * 1024 * 1024;

/**
 * Each size as shares of LARGE, which has all cores and a quarter of the machine's memory, or what the service was
 * started with. Up to LARGE, each size is twice the one before. XLARGE and XLARGE2 add only memory, up to three
 * quarters of the machine's; the later ones need more threads than LARGE, so they never fit.
 */
const SHARES: Readonly<Record<Size, { threads: number; memory: number }>> = {
  FREE: { threads: 1 / 32, memory: 1 / 32 },
  NANO: { threads: 1 / 16, memory: 1 / 16 },
  XSMALL: { threads: 1 / 8, memory: 1 / 8 },
  SMALL: { threads: 1 / 4, memory: 1 / 4 },
  MEDIUM: { threads: 1 / 2, memory: 1 / 2 },
  LARGE: { threads: 1, memory: 1 },
  XLARGE: { threads: 1, memory: 2 },
  XLARGE2: { threads: 1, memory: 3 },
  XLARGE4: { threads: 2, memory: 4 },
  XLARGE8: { threads: 4, memory: 8 },
  XLARGE16: { threads: 8, memory: 16 },
};

/** The size of a service that was never resized. */
export const DEFAULT_SIZE: Size = 'LARGE';

/** Threads and memory of a size, whether the machine has them or not. */
export function engineSizeOf(size: Size, machine: Machine): EngineSize {
  const share = SHARES[size];
  const least = Math.min(machine.memoryBytes, MEMORY_BYTES_MIN);
  return {
    threads: Math.max(1, Math.floor(machine.threads * share.threads)),
    memoryBytes: Math.max(least, Math.floor(machine.memoryBytes * share.memory)),
  };
}

export function fits(size: Size, machine: Machine): boolean {
  const { threads, memoryBytes } = engineSizeOf(size, machine);
  return threads <= machine.threads && memoryBytes <= machine.memoryBytesMax;
}

/** The largest size up to `wanted` that fits the machine. */
export function largestFitting(wanted: Size, machine: Machine): Size {
  const upTo = SIZES.slice(0, SIZES.indexOf(wanted) + 1);
  return upTo.findLast((size) => fits(size, machine)) ?? DEFAULT_SIZE;
}
