import { describe, expect, it } from 'vitest';
import { eventTimeMicros } from '../../../src/service/ingest/event-time.ts';

describe('eventTimeMicros()', () => {
  it.each([
    ['1970-01-01T00:00:00Z', 0n],
    ['1970-01-01', 0n],
    ['1970-01-01 00:00', 0n],
    ['1970-01-01T00:00:01.000001Z', 1_000_001n],
    ['1970-01-01T00:00:00.5', 500_000n],
    ['1970-01-01T00:00:00,25Z', 250_000n],
    ['1970-01-01T00:00:00.123456789Z', 123_456n],
    ['1970-01-01T01:00:00+01:00', 0n],
    ['1970-01-01T00:00:00-0030', 1_800_000_000n],
    ['1970-01-01T02:00:00+02', 0n],
    ['1969-12-31T23:59:59.999999Z', -1n],
    ['2024-02-29T00:00:00Z', 1_709_164_800_000_000n],
    ['0001-01-01T00:00:00Z', -62_135_596_800_000_000n],
    ['9999-12-31T23:59:59.999999Z', 253_402_300_799_999_999n],
  ])('reads %s', (text, micros) => {
    expect(eventTimeMicros(text)).toBe(micros);
  });

  it('takes an integer as microseconds, exactly', () => {
    expect(eventTimeMicros(1_709_164_800_000_001)).toBe(1_709_164_800_000_001n);
    expect(eventTimeMicros(9_007_199_254_740_993n)).toBe(9_007_199_254_740_993n);
    expect(eventTimeMicros(-1)).toBe(-1n);
  });

  it.each([
    ['a word', 'yesterday'],
    ['an empty string', ''],
    ['30 February', '2023-02-30T00:00:00Z'],
    ['29 February of a common year', '2023-02-29'],
    ['month 13', '2023-13-01'],
    ['month 0', '2023-00-10'],
    ['hour 24', '2023-01-01T24:00:00Z'],
    ['minute 60', '2023-01-01T00:60:00Z'],
    ['a leap second', '2016-12-31T23:59:60Z'],
    ['a zone of 99 hours', '2023-01-01T00:00:00+99:00'],
    ['a year of five digits', '12023-01-01T00:00:00Z'],
    ['the year 0', '0000-12-31T00:00:00Z'],
    ['text after it', '2023-01-01T00:00:00Z; DROP'],
    ['a number as text', '1709164800000000'],
    ['a fraction', 1.5],
    ['an infinity', Number.POSITIVE_INFINITY],
    ['2^63', 9_223_372_036_854_775_808n],
    ['-2^63', -9_223_372_036_854_775_808n],
    ['a boolean', true],
    ['an object', {}],
    ['an array', ['2023-01-01']],
  ])('refuses %s', (_, value) => {
    expect(eventTimeMicros(value)).toBeUndefined();
  });
});
