import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const { contentOf, stampBuild, UNSTAMPED } = await import('../../scripts/build-time.mjs' as string);

let base = '';
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'colloquy-build-'));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

async function built(text: string, before: string, env: Record<string, string> = {}) {
  const folder = mkdtempSync(join(base, 'dist-'));
  writeFileSync(join(folder, 'a.js'), `${text};const build="${UNSTAMPED}"`);
  await stampBuild(folder, await contentOf(folder), before, env);
  return { folder, code: readFileSync(join(folder, 'a.js'), 'utf8') };
}

test('the same content keeps the time of its first build; other content has its own', async () => {
  const first = await built('let a=1', '/nowhere', { SOURCE_DATE_EPOCH: '1000000000' });
  expect(first.code).toBe('let a=1;const build="2001-09-09T01:46:40.000Z"');
  const same = await built('let a=1', first.folder);
  expect(same.code).toBe(first.code);
  expect((await built('let a=1', same.folder)).code).toBe(first.code);
  const other = await built('let a=2', first.folder);
  expect(other.code).not.toContain('2001-09-09');
  expect(other.code).not.toContain(UNSTAMPED);
});
