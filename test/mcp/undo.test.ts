import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { contract, OPERATIONS } from '../../src/contract/contract.ts';
import type { Row } from '../../src/contract/row.ts';
import { blastRadius } from '../../src/mcp/guard/blast.ts';
import { rowTools, toolName } from '../../src/mcp/tools/catalog.ts';
import { fakeClient, notFound } from './fake-client.ts';

const DAY_MS = 86_400_000;
const PLACE = { workspace: 'w', collection: 'c', queryLambda: 'l', version: 'v', alias: 'a', tag: 't' };

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse('2026-11-21T10:00:00Z'), toFake: ['Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

async function lastLine(tool: string, about: () => unknown, offered?: ReadonlyMap<string, unknown>): Promise<string> {
  const { client } = fakeClient({
    getAbout: about,
    getCollection: () => ({ name: 'c', stats: { doc_count: 3 } }),
    listCollectionAliases: () => [],
    listCollectionLambdas: () => [],
    selectDocuments: () => {
      throw notFound('There is no endpoint at this path.');
    },
    runQuery: () => ({ results: [{ n: 1 }] }),
    getLambdaVersion: () => ({ version: 'v' }),
    listLambdaVersions: () => [{ version: 'v' }, { version: 'u' }],
    listLambdaTags: () => [],
    getLambdaTag: () => ({ tag_name: 't' }),
    listWorkspaceLambdas: () => [{ name: 'l' }],
    getAlias: () => ({ name: 'a' }),
    listAliasLambdas: () => [],
  });
  const found = rowTools().get(tool);
  if (found === undefined) throw new Error(`no tool ${tool}`);
  const args = { ...PLACE, data: [{ _id: 'x' }] };
  return (await blastRadius({ client, signal: undefined, offered }, found, args)).message.split('\n').at(-1) ?? '';
}

const NOT = 'This cannot be undone.';

describe('the question of a tool that deletes', () => {
  it('is about the trash for what goes there, and for nothing else', () => {
    const rows: [string, Row][] = OPERATIONS.map((operation) => [toolName(operation), contract[operation]]);
    expect(rows.filter(([, row]) => row.trash === true).map(([name]) => name)).toEqual([
      'delete_documents',
      'delete_collection',
      'delete_lambda',
      'delete_lambda_version',
    ]);
    expect(rows.every(([, row]) => row.trash !== true || row.effect === 'delete')).toBe(true);
  });

  it.each(['delete_documents', 'delete_collection', 'delete_lambda', 'delete_lambda_version'])(
    'says of %s until when it can be undone, as the service keeps it',
    async (tool) => {
      const kept = (until: string) =>
        `It goes to the trash: an operator can restore it until ${until} with \`colloquy trash restore\`.`;
      expect(await lastLine(tool, () => ({ version: '1', trash_days: 7 }))).toBe(kept('2026-11-28'));
      expect(await lastLine(tool, () => ({ trash_days: 40 }))).toBe(kept('2026-12-31'));
      vi.setSystemTime(Date.now() + DAY_MS);
      expect(await lastLine(tool, () => ({ trash_days: 7 }))).toBe(kept('2026-11-29'));
      expect(await lastLine(tool, () => ({ trash_days: 0 }))).toBe(NOT);
      expect(await lastLine(tool, () => ({ version: '0' }))).toBe(NOT);
      const none = () => {
        throw notFound('The path "/v1/colloquy" does not exist.');
      };
      expect(await lastLine(tool, none)).toBe(NOT);
    },
  );

  it('names the tool that undoes it to whoever has that tool', async () => {
    const offered = new Map([['restore_from_trash', {}]]);
    expect(await lastLine('delete_collection', () => ({ trash_days: 7 }), offered)).toMatch(
      /^It goes to the trash: .* `colloquy trash restore`, and this assistant with restore_from_trash\.$/,
    );
    expect(await lastLine('delete_collection', () => ({ trash_days: 0 }), offered)).toBe(NOT);
  });

  it.each(['delete_alias', 'delete_lambda_tag'])('says of %s that it cannot', async (tool) => {
    expect(await lastLine(tool, () => ({ trash_days: 7 }))).toBe(NOT);
  });
});
