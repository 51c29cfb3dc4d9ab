import { deflateRawSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  CompressionError,
  inflated,
  unlz4,
  unsnapped,
  unzipped,
  unzstd,
} from '../../src/contract/compressed-blocks.ts';

const MIB = 1024 * 1024;

/** An LZ4 frame of blocks of at most 64 KiB; `flags` beside those of its version. */
function lz4Frame(blocks: readonly (Buffer | { plain: Buffer })[], flags = 0): Buffer {
  const parts: Buffer[] = [Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x40 | flags, 0x40, 0])];
  for (const block of blocks) {
    const isPlain = 'plain' in block;
    const bytes = isPlain ? block.plain : block;
    const head = Buffer.alloc(4);
    head.writeUInt32LE(bytes.length + (isPlain ? 2 ** 31 : 0));
    parts.push(head, bytes);
  }
  return Buffer.concat([...parts, Buffer.alloc(4)]);
}

/** "abc" and then `length` bytes that repeat it, which the block says in `length / 255` bytes. */
function repeated(length: number): Buffer {
  const more = length - 4 - 15;
  const lengths = Buffer.concat([Buffer.alloc(Math.floor(more / 255), 255), Buffer.from([more % 255])]);
  return Buffer.concat([Buffer.from([0x3f]), Buffer.from('abc'), Buffer.from([3, 0]), lengths, Buffer.from([0x00])]);
}

describe('LZ4', () => {
  it('gives blocks that are plain, that repeat themselves, and that repeat what an earlier one has', async () => {
    expect(String(await unlz4(lz4Frame([{ plain: Buffer.from('plain') }]), MIB))).toBe('plain');
    expect(String(await unlz4(lz4Frame([repeated(30)]), MIB))).toBe('abc'.repeat(11));
    // Nothing of its own, and then four bytes from the beginning of the block before.
    const back = Buffer.from([0x00, 5, 0]);
    expect(String(await unlz4(lz4Frame([{ plain: Buffer.from('plain') }, back]), MIB))).toBe('plainplai');
  });

  it('gives more than it first made room for', async () => {
    const blocks = Array.from({ length: 40 }, () => repeated(60_000));
    const content = await unlz4(lz4Frame(blocks), 64 * MIB);
    expect(content.length).toBe(40 * 60_003);
    expect(content.subarray(39 * 60_003).toString()).toBe('abc'.repeat(20_001));
  });

  it('is refused where it expands to more than may be', async () => {
    const blocks = Array.from({ length: 40 }, () => repeated(60_000));
    await expect(unlz4(lz4Frame(blocks), 2 * MIB)).rejects.toThrow('expands to more than 2097152 bytes (2 MiB)');
  });

  it.each<[string, Buffer, string]>([
    ['is no frame', Buffer.from('not a frame'), 'cannot be decompressed: it is damaged'],
    ['needs a dictionary', lz4Frame([], 1), 'cannot be decompressed: it is damaged'],
    ['has no end', lz4Frame([repeated(30)]).subarray(0, -4), 'cannot be decompressed: it ends too early'],
    ['is cut within a block', lz4Frame([repeated(30)]).subarray(0, -9), 'cannot be decompressed: it ends too early'],
    ['ends within a length', lz4Frame([Buffer.from([0xf0, 255])]), 'cannot be decompressed: it ends too early'],
    ['repeats what is before its beginning', lz4Frame([Buffer.from([0x10, 97, 2, 0])]), 'it is damaged'],
    ['repeats nothing', lz4Frame([Buffer.from([0x10, 97, 0, 0])]), 'it is damaged'],
    ['has a block that is larger than it says', lz4Frame([repeated(70_000)]), 'it is damaged'],
  ])('is refused where it %s', async (_, bytes, why) => {
    await expect(unlz4(bytes, MIB)).rejects.toThrow(CompressionError);
    await expect(unlz4(bytes, MIB)).rejects.toThrow(why);
  });
});

describe('what is compressed otherwise', () => {
  it('is given up to the limit, and refused beyond', async () => {
    const content = Buffer.alloc(1_000, 'x');
    expect(await unzipped(gzipSync(content), 1_000)).toEqual(content);
    expect(await inflated(deflateRawSync(content), 1_000)).toEqual(content);
    await expect(unzipped(gzipSync(content), 999)).rejects.toThrow('expands to more than 999 bytes');
    await expect(inflated(deflateRawSync(content), 999)).rejects.toThrow('expands to more than 999 bytes');
    await expect(unzipped(Buffer.from('none'), 999)).rejects.toThrow('cannot be decompressed: incorrect header check');
    await expect(unzstd(Buffer.from('none'), 999)).rejects.toThrow(/^cannot be decompressed: /);
    // It says a length of 1,000.
    expect(() => unsnapped(Buffer.from([0xe8, 0x07]), 999)).toThrow('expands to more than 999 bytes');
    expect(() => unsnapped(Buffer.from([5, 0x10, 97]), 999)).toThrow('it is damaged');
  });
});
