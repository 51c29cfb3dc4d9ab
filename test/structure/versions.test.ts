import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (file: string) => JSON.parse(readFileSync(resolve(ROOT, file), 'utf8'));

describe('versions', () => {
  it('package.json, its lock, manifest.json, server.json and CHANGELOG.md agree', () => {
    const { version } = read('package.json');
    expect(read('package-lock.json').version).toBe(version);
    expect(read('manifest.json').version).toBe(version);
    expect(read('server.json').version).toBe(version);
    expect(read('server.json').packages[0].version).toBe(version);
    expect(readFileSync(resolve(ROOT, 'CHANGELOG.md'), 'utf8')).toMatch(new RegExp(`^## ${version}\\b`, 'm'));
  });
});
