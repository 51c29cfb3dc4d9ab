import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readBody } from '../../../src/service/app/body.ts';

const bodyOf = (text: string) => readBody(Readable.from([Buffer.from(text)], { objectMode: false }));
/** Long enough for a buffer that is reused. */
const large = (letter: string, length = 300_000) => JSON.stringify(letter.repeat(length));

test('large bodies that are read at the same time do not share a buffer', async () => {
  const texts = ['a', 'b', 'c', 'd'].map((letter) => large(letter));
  const bodies = await Promise.all(texts.map(bodyOf));
  expect(bodies.map((body) => body.bytes.toString())).toEqual(texts);
  for (const body of bodies) body.release();
});

test('a body that is released twice gives its buffer to one other body only', async () => {
  const first = await bodyOf(large('a'));
  first.release();
  first.release();
  const [second, third] = [await bodyOf(large('b')), await bodyOf(large('c'))];
  first.release();
  const fourth = await bodyOf(large('d'));
  expect(await Promise.all([second, third, fourth].map((body) => body.parse()))).toEqual(
    ['b', 'c', 'd'].map((letter) => letter.repeat(300_000)),
  );
});

test('a released body has no bytes, and what was parsed from it remains', async () => {
  const body = await bodyOf(large('a'));
  const parsed = await body.parse();
  body.release();
  await bodyOf(large('b', 200_000));
  expect(body.bytes).toHaveLength(0);
  expect(parsed).toBe('a'.repeat(300_000));
});

test('a short body in the buffer of a longer one has its own length', async () => {
  (await bodyOf(large('a'))).release();
  expect(await (await bodyOf(large('b', 100_000))).parse()).toBe('b'.repeat(100_000));
});
