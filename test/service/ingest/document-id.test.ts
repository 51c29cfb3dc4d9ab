import { describe, expect, it } from 'vitest';
import { newDocumentId } from '../../../src/service/ingest/document-id.ts';

describe('newDocumentId()', () => {
  it('is a version 7 UUID of now', () => {
    const before = Date.now();
    const id = newDocumentId();
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const ms = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
    expect(ms).toBeGreaterThanOrEqual(before);
    expect(ms).toBeLessThan(before + 60_000);
  });

  it('sorts in the order of making, also within a millisecond', () => {
    const ids = Array.from({ length: 20_000 }, newDocumentId);
    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('ends in bytes that no other id has', () => {
    const ends = new Set(Array.from({ length: 20_000 }, () => newDocumentId().slice(-12)));
    expect(ends.size).toBe(20_000);
    // Every digit takes every value.
    const digits = [...Array(12).keys()].map((at) => new Set([...ends].map((end) => end[at])).size);
    expect(digits).toEqual(Array(12).fill(16));
  });
});
