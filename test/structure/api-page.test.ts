import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { contract } from '../../src/contract/contract.ts';
import { apiPage } from './api-page.ts';
import { expectGenerated } from './parts.ts';

const PAGE = resolve(import.meta.dirname, '../../docs/api.md');
const SRC = resolve(import.meta.dirname, '../../src');

describe('docs/api.md', () => {
  it('is as the contract is', () => {
    expectGenerated(PAGE, apiPage());
  });

  it('has what comments cite, which is an endpoint by its number or an object by its name', () => {
    const page = readFileSync(PAGE, 'utf8');
    const numbers = new Set<number>(Object.values(contract).map(({ number }) => number));
    const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    const cited = files.flatMap((file) => {
      const text = readFileSync(join(SRC, file), 'utf8');
      return [...text.matchAll(/(\S*)api\.md(?: #(\d+)|, ([A-Za-z]+))?/g)].map(([all, before, number, name]) => ({
        file,
        all,
        before,
        number,
        name,
      }));
    });
    expect(cited.length).toBeGreaterThan(50);
    const wrong = cited.filter(
      ({ before, number, name }) =>
        !before?.endsWith('docs/') ||
        (number !== undefined && !numbers.has(Number(number))) ||
        (name !== undefined && !page.includes(`### ${name}\n`)),
    );
    expect(wrong).toEqual([]);
  });
});
