import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tools } from '../../src/mcp/tools/tools.ts';

const SRC = resolve(import.meta.dirname, '../../src');
const BELOW = ['service', 'engine', 'http'];

const texts = BELOW.flatMap((folder) =>
  readdirSync(join(SRC, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file): [string, string] => [`${folder}/${file}`, readFileSync(join(SRC, folder, file), 'utf8')]),
);

describe('messages of the service', () => {
  it('name no tool: whoever calls the REST API has none', () => {
    const names = new RegExp(`\\b(${[...tools().keys()].join('|')})\\b`);
    expect(texts.filter(([, text]) => names.test(text)).map(([file, text]) => [file, names.exec(text)?.[0]])).toEqual(
      [],
    );
  });
});
