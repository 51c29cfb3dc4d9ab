import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { contract } from '../../src/contract/contract.ts';
import type { Row } from '../../src/contract/row.ts';
import { SETTINGS, type Setting } from '../../src/settings.ts';

const README = resolve(import.meta.dirname, '../../README.md');

function endpointTable(): string {
  const rows = Object.entries(contract as Record<string, Row>).sort(
    ([, a], [, b]) => (a.number ?? 0) - (b.number ?? 0),
  );
  const lines = rows.map(([operation, row]) => {
    const tool = operation.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const path = row.path.replace('/v1/orgs/self', '') || '/';
    return `| ${row.number} | ${operation} | \`${row.method} ${path}\` | \`${tool}\` | ${row.effect} | ${row.role} |`;
  });
  return [
    `${rows.length} of 62 endpoints:`,
    '',
    '| # | operation | path under `/v1/orgs/self` | tool | effect | role |',
    '|---|---|---|---|---|---|',
    ...lines,
  ].join('\n');
}

function settingTable(): string {
  const lines = Object.values(SETTINGS as Record<string, Setting>).map((setting) => {
    const byDefault = setting.defaultShown ?? setting.default ?? '';
    const flag = setting.flag === undefined ? '' : `\`${setting.flag}\``;
    const env = setting.env === undefined ? '' : `\`${setting.env}\``;
    return `| ${env} | ${flag} | ${byDefault} | ${setting.meaning} |`;
  });
  return ['| environment | flag | default | meaning |', '|---|---|---|---|', ...lines].join('\n');
}

/** The README with a generated part put between its markers. */
function withPart(readme: string, part: string, text: string): string {
  const begin = readme.indexOf(`<!-- ${part}:begin`);
  const end = readme.indexOf(`<!-- ${part}:end -->`);
  if (begin < 0 || end < begin) throw new Error(`README.md has no markers for ${part}`);
  const bodyStart = readme.indexOf('\n', begin) + 1;
  return `${readme.slice(0, bodyStart)}\n${text}\n\n${readme.slice(end)}`;
}

describe('README.md', () => {
  it('holds the endpoint and settings tables as they are in the code', () => {
    const readme = readFileSync(README, 'utf8');
    const expected = withPart(withPart(readme, 'endpoints', endpointTable()), 'settings', settingTable());
    if (process.env['UPDATE_README'] === '1') writeFileSync(README, expected);
    expect(readFileSync(README, 'utf8')).toBe(expected);
  });

  it('stays under 300 lines', () => {
    expect(readFileSync(README, 'utf8').split('\n').length).toBeLessThan(300);
  });
});
