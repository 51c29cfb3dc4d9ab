import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { checkManifest } from '../../scripts/mcpb-manifest.mjs';
import { readInvocation } from '../../src/commands.ts';
import { offeredPrompts } from '../../src/mcp/prompts.ts';
import { tools } from '../../src/mcp/tools/tools.ts';
import { SETTINGS, variableOf } from '../../src/settings.ts';
import { howToUpdate, isUpdating } from './parts.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const FILE = resolve(ROOT, 'manifest.json');
const read = (file: string) => JSON.parse(readFileSync(resolve(ROOT, file), 'utf8'));
const variables = Object.keys(SETTINGS).map(variableOf);

/** The tools and prompts as a manifest lists them. */
function lists() {
  const all = tools();
  return {
    tools: [...all.values()].map(({ listing }) => ({ name: listing.name, description: listing.title })),
    prompts: offeredPrompts(all).map(({ name, title, description, arguments: known }) => ({
      name,
      description,
      arguments: known.map((argument) => argument.name),
      text: `${title}. ${known.map((argument) => `${argument.name}: \${arguments.${argument.name}}`).join('; ')}`,
    })),
  };
}

describe('manifest.json', () => {
  it('lists the tools and prompts as they are in the code', () => {
    const expected = { ...read('manifest.json'), ...lists() };
    // What is up to date is left as the formatter has it.
    if (isUpdating && !isDeepStrictEqual(read('manifest.json'), expected))
      writeFileSync(FILE, `${JSON.stringify(expected, null, 2)}\n`);
    expect(read('manifest.json'), howToUpdate()).toEqual(expected);
  });

  it('keeps to the specification, which knows no other keys', () => {
    const has = (path: string) => path === 'dist/colloquy.js';
    const manifest = read('manifest.json');
    checkManifest(manifest, has);
    expect(() => checkManifest({ ...manifest, extra: 1 }, has)).toThrow(/extra/);
    expect(() => checkManifest(manifest, () => false)).toThrow(/no dist\/colloquy\.js/);
    expect(() => checkManifest({ ...manifest, user_config: {} }, has)).toThrow(/no user_config "url"/);
  });

  it('sets variables that exist, which mean nothing until somebody fills them in', () => {
    const { env } = read('manifest.json').server.mcp_config as { env: Record<string, string> };
    expect(variables).toEqual(expect.arrayContaining(Object.keys(env)));
    const plain = readInvocation([], {});
    expect(readInvocation([], env)).toEqual(plain);
    expect(readInvocation([], Object.fromEntries(Object.keys(env).map((name) => [name, ''])))).toEqual(plain);
    expect(readInvocation([], { COLLOQUY_READ_ONLY: 'true' })).toMatchObject({ config: { readOnly: true } });
  });

  it('asks for Node.js as package.json does', () => {
    expect(read('manifest.json').compatibility.runtimes.node).toBe(read('package.json').engines.node);
  });
});

describe('server.json', () => {
  it('keeps to the limits of the registry, and names variables that exist', () => {
    const { name, description, packages } = read('server.json');
    expect(name).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/);
    expect(description.length).toBeLessThanOrEqual(100);
    // The registry looks for this name in the package that it is given.
    expect(read('package.json').mcpName).toBe(name);
    const [{ identifier, environmentVariables }] = packages;
    expect(identifier).toBe(read('package.json').name);
    expect(variables).toEqual(
      expect.arrayContaining(environmentVariables.map((variable: { name: string }) => variable.name)),
    );
    const secrets = environmentVariables.filter(({ isSecret }: { isSecret?: boolean }) => isSecret === true);
    expect(secrets.map((variable: { name: string }) => variable.name)).toEqual(['COLLOQUY_API_KEY']);
  });
});
