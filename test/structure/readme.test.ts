import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ASSISTANTS } from '../../src/cli/setup/clients.ts';
import { contract } from '../../src/contract/contract.ts';
import type { Row } from '../../src/contract/row.ts';
import { SETTINGS, type Setting, variableOf } from '../../src/settings.ts';
import { expectGenerated, withPart } from './parts.ts';

const README = resolve(import.meta.dirname, '../../README.md');
const LAKES = resolve(import.meta.dirname, '../../docs/lakes.md');

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

function settingTable(page?: Setting['page']): string {
  const settings = Object.entries(SETTINGS as Record<string, Setting>).filter(([, setting]) => setting.page === page);
  const lines = settings.map(([key, setting]) => {
    const byDefault = setting.defaultShown ?? setting.default ?? '';
    const flag = setting.flag === undefined ? '' : `\`${setting.flag}\``;
    return `| \`${variableOf(key)}\` | ${flag} | ${byDefault} | ${setting.meaning} |`;
  });
  return ['| environment | flag | default | meaning |', '|---|---|---|---|', ...lines].join('\n');
}

/** Placeholders for folders that differ from user to user. */
const PLACES = {
  home: '~',
  xdgConfig: '~/.config',
  appData: '%APPDATA%',
  localAppData: '%LOCALAPPDATA%',
  claudeConfigDir: undefined,
  codexHome: undefined,
  geminiHome: undefined,
};

function assistantTable(): string {
  const lines = ASSISTANTS.map((kind) => {
    const linux = kind.file({ ...PLACES, platform: 'linux' });
    const mac = kind.file({ ...PLACES, platform: 'darwin' });
    const windows = kind.file({ ...PLACES, platform: 'win32' });
    const others = [
      mac === linux ? '' : `; macOS: \`${mac}\``,
      windows === linux ? '' : `; Windows: \`${windows.replaceAll('/', '\\')}\``,
    ];
    return `| ${kind.name} | \`colloquy setup --client ${kind.id}\` | \`${linux}\`${others.join('')} |`;
  });
  return ['| assistant | one line | its file |', '|---|---|---|', ...lines].join('\n');
}

/** Its sections, in the order in which a reader needs them. */
const SECTIONS = [
  'What it looks like',
  'Connect your assistant',
  'Three prompts to try',
  'What is safe',
  'How fast, how large',
  'Tools',
  'Settings',
  'A remote service',
  'Troubleshooting',
  'Limits',
];

describe('README.md', () => {
  it('holds its tables as they are in the code', () => {
    const readme = readFileSync(README, 'utf8');
    const parts = { assistants: assistantTable(), endpoints: endpointTable(), settings: settingTable() };
    const expected = Object.entries(parts).reduce((text, [part, table]) => withPart(text, part, table), readme);
    expectGenerated(README, expected);
  });

  it('leaves the settings of lakes to their page', () => {
    const table = settingTable('docs/lakes.md');
    expectGenerated(LAKES, withPart(readFileSync(LAKES, 'utf8'), 'settings', table));
  });

  it('says what it is in one sentence, then the two commands, then its sections in their order', () => {
    const readme = readFileSync(README, 'utf8');
    expect(readme).toMatch(/^# Colloquy\n\n[^.]+\.\n\n```sh\nnpm ci && npm run demo .*\nnpm test .*\n```\n/);
    expect([...readme.matchAll(/^## (.*)$/gm)].map((match) => match[1])).toEqual(SECTIONS);
  });

  it('stays under 300 lines', () => {
    expect(readFileSync(README, 'utf8').split('\n').length).toBeLessThan(300);
  });
});
