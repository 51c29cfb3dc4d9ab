import { describe, expect, it } from 'vitest';
import { SIZES } from '../../../src/contract/virtual-instances.ts';
import { engineSizeOf, fits, largestFitting, type Machine } from '../../../src/service/compute/sizes.ts';

const MIB = 1024 * 1024;
/** Sixteen cores and 64 GiB, of which the engine has a quarter by default. */
const BIG: Machine = { threads: 16, memoryBytes: 16 * 1024 * MIB, memoryBytesMax: 48 * 1024 * MIB };
/** Two cores and 1 GiB. */
const SMALL: Machine = { threads: 2, memoryBytes: 512 * MIB, memoryBytesMax: 768 * MIB };
/** Limited by the operator: two threads and 128 MiB. */
const BOUND: Machine = { threads: 2, memoryBytes: 128 * MIB, memoryBytesMax: 128 * MIB };

describe('engineSizeOf()', () => {
  it('has the sizes that the README lists', () => {
    const sizes = SIZES.map((size) => {
      const { threads, memoryBytes } = engineSizeOf(size, BIG);
      return [size, threads, memoryBytes / MIB];
    });
    expect(sizes).toEqual([
      ['FREE', 1, 512],
      ['NANO', 1, 1024],
      ['XSMALL', 2, 2048],
      ['SMALL', 4, 4096],
      ['MEDIUM', 8, 8192],
      ['LARGE', 16, 16_384],
      ['XLARGE', 16, 32_768],
      ['XLARGE2', 16, 49_152],
      ['XLARGE4', 32, 65_536],
      ['XLARGE8', 64, 131_072],
      ['XLARGE16', 128, 262_144],
    ]);
  });

  it.each([BIG, SMALL, BOUND])('never shrinks as sizes grow, and LARGE is what there is at first', (machine) => {
    const sizes = SIZES.map((size) => engineSizeOf(size, machine));
    for (const [index, size] of sizes.entries()) {
      expect(size.threads).toBeGreaterThanOrEqual(sizes[index - 1]?.threads ?? 1);
      expect(size.memoryBytes).toBeGreaterThanOrEqual(sizes[index - 1]?.memoryBytes ?? 1);
      expect(Number.isInteger(size.threads) && Number.isInteger(size.memoryBytes)).toBe(true);
    }
    expect(engineSizeOf('LARGE', machine)).toEqual({ threads: machine.threads, memoryBytes: machine.memoryBytes });
  });
});

describe('fits()', () => {
  it.each([
    [BIG, 'XLARGE2'],
    [SMALL, 'LARGE'],
    [BOUND, 'LARGE'],
  ] as const)('has all sizes up to one', (machine, largest) => {
    const fitting = SIZES.filter((size) => fits(size, machine));
    expect(fitting).toEqual(SIZES.slice(0, SIZES.indexOf(largest) + 1));
    expect(largestFitting('XLARGE16', machine)).toBe(largest);
    expect(largestFitting('NANO', machine)).toBe('NANO');
  });
});
