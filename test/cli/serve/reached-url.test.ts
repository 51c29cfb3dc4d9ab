import { expect, test } from 'vitest';
import { reachedUrl } from '../../../src/cli/serve/reached-url.ts';

test.each([
  [
    'https://0.0.0.0:18443',
    { host: '0.0.0.0', allowedHosts: ['colloquy.example', 'localhost'] },
    'https://colloquy.example:18443',
  ],
  ['https://[::]:18443', { host: '::', allowedHosts: ['localhost'] }, 'https://localhost:18443'],
  ['https://0.0.0.0:18443', { host: '0.0.0.0', allowedHosts: undefined }, 'https://localhost:18443'],
  ['http://127.0.0.1:4000', { host: '127.0.0.1', allowedHosts: undefined }, 'http://127.0.0.1:4000'],
  ['https://box.example:443', { host: 'box.example', allowedHosts: undefined }, 'https://box.example:443'],
])('%s is shown as a URL whose host /mcp admits', (url, config, expected) => {
  expect(reachedUrl(url, config)).toBe(expected);
});
