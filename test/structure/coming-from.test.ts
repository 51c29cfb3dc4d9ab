import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { CLIENT_KEYS, type ClientKey } from '../../src/contract/client-keys.ts';
import { expectGenerated, withPart } from './parts.ts';

const PAGE = resolve(import.meta.dirname, '../../docs/coming-from.md');

const inCode = (texts: readonly string[]) => texts.map((text) => `\`${text}\``).join(', ');

/** `sources[].{s3,gcs}.*` for a list of keys that differ in one step. */
function folded(keys: readonly string[]): string {
  const [first = ''] = keys;
  const steps = first.split('.');
  for (let at = 0; at < steps.length; at++) {
    const [before, after] = [steps.slice(0, at), steps.slice(at + 1)];
    const middles = keys.map((key) => key.split('.')[at] ?? '');
    const isSame = keys.every((key, index) => [...before, middles[index], ...after].join('.') === key);
    if (keys.length > 2 && steps.length > 1 && isSame && new Set(middles).size === keys.length) {
      return `\`${[...before, `{${middles.join(',')}}`, ...after].join('.')}\``;
    }
  }
  return inCode(keys);
}

function row({ in: operations, keys, ignored, refused, unless }: ClientKey): string {
  const fate = refused === undefined ? `ignored: ${ignored}` : `refused: ${refused}`;
  const asked = unless === undefined ? '' : ` (\`${unless}\` is ignored)`;
  return `| ${inCode(operations)} | ${folded(keys)} | ${fate}${asked} |`;
}

it('the page holds the keys that clients send as they are in the code', () => {
  const table = ['| request | key | what becomes of it |', '|---|---|---|', ...CLIENT_KEYS.map(row)].join('\n');
  expectGenerated(PAGE, withPart(readFileSync(PAGE, 'utf8'), 'keys', table));
});

it('each key is ignored or refused, with a reason, and listed once', () => {
  for (const { ignored, refused } of CLIENT_KEYS) expect([ignored, refused].filter(Boolean)).toHaveLength(1);
  const all = CLIENT_KEYS.flatMap(({ in: operations, keys }) =>
    operations.flatMap((of) => keys.map((key) => `${of} ${key}`)),
  );
  expect(new Set(all).size).toBe(all.length);
});
