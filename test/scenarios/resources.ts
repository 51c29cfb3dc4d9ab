import { expect } from 'vitest';
import type { Scenario } from './scenarios.ts';
import type { Session } from './session.ts';

const ROOT = 'colloquy://workspaces';
const QUERY = 'SELECT n FROM things WHERE n > :least ORDER BY n';

async function ok(session: Session, name: string, args: Record<string, unknown>): Promise<Record<string, unknown>> {
  const result = await session.call(name, args);
  expect(result.isError, result.text).toBe(false);
  return result.structured;
}

/** A collection of three documents and a lambda over it, with a tag. */
async function filled(session: Session, workspace: string): Promise<string> {
  await ok(session, 'create_workspace', { name: workspace });
  await ok(session, 'create_collection', { workspace, name: 'things' });
  const data = [1, 2, 3].map((n) => ({ _id: String(n), n }));
  await ok(session, 'add_documents', { workspace, collection: 'things', data });
  const sql = { query: QUERY.replace('things', `"${workspace}".things`), default_parameters: [leastOf('1')] };
  const { version } = await ok(session, 'create_lambda', { workspace, name: 'above', description: 'First', sql });
  const tag = { workspace, lambda: 'above', tag: 'production', version };
  await ok(session, 'tag_lambda_version', tag);
  return String(version);
}

function leastOf(value: string) {
  return { name: 'least', type: 'int', value };
}

const lambdas: Scenario = {
  name: 'offers lambdas and documentation as resources',
  ownSession: true,
  async run({ open, workspace }) {
    const session = await open();
    const version = await filled(session, workspace);
    const uri = `${ROOT}/${workspace}/lambdas/above`;
    expect(await session.resources()).toEqual(expect.arrayContaining([uri, 'colloquy://docs/sql']));
    expect(JSON.parse(await session.read(uri))).toMatchObject({
      state: 'ACTIVE',
      parameters: [{ name: 'least', type: 'int', default: '1' }],
      versions: [{ version, tags: ['latest', 'production'] }],
    });
    expect(JSON.parse(await session.read(`${uri}/versions/production`))).toMatchObject({ version });
    const template = `${ROOT}/{workspace}/lambdas/{lambda}/versions/{version}`;
    expect(await session.templates()).toContain(template);
    const place = { workspace, lambda: 'above' };
    expect(await session.complete(template, 'version', '', place)).toEqual(['latest', 'production', version]);
    const text = await session.read('colloquy://docs/limits');
    expect(text).toMatch(/^# Limits/);
    expect((await ok(session, 'get_docs', { topic: 'limits' }))['text']).toBe(text);
  },
};

const subscriptions: Scenario = {
  name: 'tells of changes of what is subscribed to, whoever made them',
  async run({ open, workspace }) {
    const session = await open();
    await filled(session, workspace);
    const things = await session.follow(`${ROOT}/${workspace}/collections/things`);
    const above = await session.follow(`${ROOT}/${workspace}/lambdas/above`);
    const add = (by: Session, n: number) =>
      ok(by, 'add_documents', { workspace, collection: 'things', data: [{ _id: String(n), n }] });

    const changed = things.next();
    await add(session, 4);
    await changed;

    const tagged = above.next();
    await ok(session, 'create_lambda_version', { workspace, lambda: 'above', description: 'Second' });
    await tagged;

    const byOther = things.next();
    await add(await open(), 5);
    await byOther;

    await things.stop();
    let told = false;
    void things.next().then(() => {
      told = true;
    });
    const last = above.next();
    await add(session, 6);
    await ok(session, 'create_lambda_version', { workspace, lambda: 'above', description: 'Third' });
    await last;
    expect(told).toBe(false);
    await above.stop();
  },
};

const prompts: Scenario = {
  name: 'leads through the authoring of a lambda by a prompt whose calls work as written',
  async run({ open, workspace }) {
    const session = await open();
    await filled(session, workspace);
    expect(await session.prompts()).toEqual(['explore_data', 'author_lambda', 'administer', 'connect_source']);
    expect(await session.completeArgument('author_lambda', 'workspace', workspace)).toContain(workspace);
    const goal = 'Above a limit, largest first';
    const text = await session.prompt('author_lambda', { workspace, lambda: 'above', goal });
    expect(text).toContain(goal);
    const place = { workspace, lambda: 'above' };
    expect(text).toContain(`{${JSON.stringify(place).slice(1, -1)}`);

    const query = `SELECT n FROM "${workspace}".things WHERE n > :least ORDER BY n DESC`;
    const validated = await ok(session, 'validate_query', { query, list_parameters: true });
    expect(validated['parameters']).toEqual(['least']);
    const tried = await ok(session, 'run_query', { query, parameters: [leastOf('1')], default_row_limit: 20 });
    expect(tried['rows']).toEqual([[3], [2]]);
    const sql = { query, default_parameters: [leastOf('2')] };
    const compared = await ok(session, 'compare_lambda_versions', { ...place, from: 'production', sql });
    expect(compared).toMatchObject({
      verdict: 'compatible',
      sql_diff: expect.stringMatching(/^- .* ORDER BY n\n\+ .* ORDER BY n DESC$/),
      parameters: [{ name: 'least', change: 'changed', breaks: false }],
    });
    const { version } = await ok(session, 'create_lambda_version', { ...place, description: 'Largest first', sql });
    expect((await ok(session, 'execute_lambda_version', { ...place, version }))['rows']).toEqual([[3]]);
    await ok(session, 'tag_lambda_version', { ...place, tag: 'production', version });
    const again = await ok(session, 'compare_lambda_versions', { ...place, from: 'production', to: 'latest' });
    expect(again['verdict']).toBe('same');
  },
};

/** How resources and prompts must behave over every way to reach the server. */
export const RESOURCES: readonly Scenario[] = [lambdas, subscriptions, prompts];
