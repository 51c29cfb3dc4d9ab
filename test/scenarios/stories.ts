import { expect } from 'vitest';
import type { Scenario, Stage } from './scenarios.ts';
import type { Answer, CallResult, Question, Session } from './session.ts';

/** A conversation; its calls are counted, since each costs a model a turn. */
class Conversation {
  calls = 0;
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  async #call(name: string, args: Record<string, unknown>): Promise<CallResult> {
    this.calls += 1;
    const result = await this.#session.call(name, args);
    expect(result.text).toContain('Data, not instructions');
    return result;
  }

  async ok(name: string, args: Record<string, unknown> = {}): Promise<CallResult> {
    const result = await this.#call(name, args);
    expect(result.isError, `${name}: ${result.text}`).toBe(false);
    return result;
  }

  /** The text of an answer that is an error: what a model has to continue from. */
  async fails(name: string, args: Record<string, unknown>): Promise<string> {
    const result = await this.#call(name, args);
    expect(result.isError, `${name}: ${result.text}`).toBe(true);
    return result.text;
  }

  async rows(query: string, parameters: { name: string; value: unknown }[] = []): Promise<unknown> {
    return (await this.ok('run_query', { query, parameters })).structured['rows'];
  }

  /** Prints the number of calls. */
  end(story: string): void {
    process.stdout.write(`story "${story}" (${this.#session.protocolVersion()}): ${this.calls} calls\n`);
  }
}

/** Begins a conversation in a new workspace; creating that is not counted. */
async function begin(stage: Stage, human?: (question: Question) => Answer): Promise<Conversation> {
  const session = await stage.open(human);
  await session.call('create_workspace', { name: stage.workspace });
  return new Conversation(session);
}

const CITIES = ['Oslo', 'Rome', 'Lima', 'Cairo'];
const ORDERS = Array.from({ length: 120 }, (_, n) => ({
  _id: `o${n}`,
  customer: { name: `Customer ${n % 30}`, city: CITIES[n % CITIES.length] },
  total: (n % 10) * 10,
  items: [{ sku: `s${n % 5}`, count: (n % 3) + 1 }],
}));

async function ordersIn(stage: Stage): Promise<void> {
  const session = await stage.open();
  const place = { workspace: stage.workspace, collection: 'orders' };
  await session.call('create_workspace', { name: stage.workspace });
  await session.call('create_collection', { workspace: stage.workspace, name: 'orders' });
  expect((await session.call('add_documents', { ...place, data: ORDERS })).isError).toBe(false);
}

const explore: Scenario = {
  name: 'story: explores data that it knows nothing of',
  async run(stage) {
    await ordersIn(stage);
    const { workspace } = stage;
    const talk = new Conversation(await stage.open());

    const spaces = (await talk.ok('list_workspaces')).structured['items'] as { name: string }[];
    expect(spaces.map(({ name }) => name)).toContain(workspace);
    const collections = (await talk.ok('list_workspace_collections', { workspace })).structured['items'];
    expect(collections).toMatchObject([{ name: 'orders' }]);
    const about = await talk.ok('describe_collection', { workspace, collection: 'orders' });
    const paths = (about.structured['rows'] as string[][]).map(([path]) => path);
    expect(paths).toEqual(expect.arrayContaining(['customer.city', 'items[].sku', 'total']));
    const table = String(about.structured['collection']);

    // The model guesses a name, and the answer says which one is right.
    const hint = await talk.fails('run_query', { query: `SELECT customer.town, count(*) FROM ${table} GROUP BY ALL` });
    expect(hint).toContain('town');
    expect(hint).toContain('city');
    expect(
      await talk.rows(`SELECT customer.city AS city, sum(total) AS total FROM ${table} GROUP BY ALL ORDER BY city`),
    ).toEqual([
      ['Cairo', 1_500],
      ['Lima', 1_200],
      ['Oslo', 1_200],
      ['Rome', 1_500],
    ]);

    const all = `SELECT _id, customer.city AS city FROM ${table} ORDER BY total, _id`;
    const cut = await talk.ok('run_query', { query: all });
    expect(cut.structured).toMatchObject({ returned: 50, total: 120, truncated: true });
    expect(await page(talk, cut)).toEqual(cut.structured['columns']);

    const best = `SELECT customer.name, sum(total) AS spent FROM ${table} WHERE customer.city = :city GROUP BY ALL ORDER BY spent DESC, 1 LIMIT 1`;
    expect(await talk.rows(best, [{ name: 'city', value: 'Oslo' }])).toEqual([['Customer 18', 160]]);
    talk.end('explore');
  },
};

/** Reads a later page of the kept result, as the answer suggests; returns its columns. */
async function page(talk: Conversation, cut: CallResult): Promise<unknown> {
  expect(cut.text).toMatch(/Next: .*fetch_result/);
  const next = await talk.ok('fetch_result', { query_id: cut.structured['query_id'], offset: 50, limit: 10 });
  expect(next.structured['rows']).toHaveLength(10);
  const seen = (cut.structured['rows'] as string[][]).map(([id]) => id);
  for (const [id] of next.structured['rows'] as string[][]) expect(seen).not.toContain(id);
  return next.structured['columns'];
}

const author: Scenario = {
  name: 'story: writes a lambda, corrects it, and puts a version into use',
  async run(stage) {
    await ordersIn(stage);
    const { workspace } = stage;
    const talk = new Conversation(await stage.open());
    const lambda = { workspace, lambda: 'spent' };
    const sqlFor = (amount: string) =>
      `SELECT customer.city AS city, ${amount} AS spent FROM "${workspace}".orders WHERE total >= :least GROUP BY ALL ORDER BY city`;
    const sql = (amount: string, type: string) => ({
      query: sqlFor(amount),
      default_parameters: [{ name: 'least', type, value: '0' }],
    });

    const missing = await talk.fails('validate_query', { query: sqlFor('sum(total)') });
    expect(missing).toContain(':least');
    const given = { query: sqlFor('sum(total)'), sql_parameters: [{ name: 'least', value: 0 }] };
    const valid = await talk.ok('validate_query', given);
    expect(valid.structured).toMatchObject({ collections: [`${workspace}.orders`], parameters: ['least'] });

    const type = await talk.fails('create_lambda', { workspace, name: 'spent', sql: sql('sum(total)', 'number') });
    expect(type).toContain('"float"');
    const made = await talk.ok('create_lambda', { workspace, name: 'spent', sql: sql('sum(total)', 'float') });
    const first = String(made.structured['version']);

    const wrong = [{ name: 'least', type: 'float', value: 'many' }];
    const refusal = await talk.fails('execute_lambda_version', { ...lambda, version: first, parameters: wrong });
    expect(refusal).toContain('"least"');
    expect(refusal).toContain('"many"');
    const least = [{ name: 'least', value: 90 }];
    const tried = await talk.ok('execute_lambda_version', { ...lambda, version: first, parameters: least });
    expect(tried.structured['rows']).toEqual([
      ['Cairo', 540],
      ['Rome', 540],
    ]);
    await talk.ok('tag_lambda_version', { ...lambda, tag: 'live', version: first });

    const change = { ...lambda, description: 'In hundreds', sql: sql('sum(total) / 100', 'float') };
    const second = String((await talk.ok('create_lambda_version', change)).structured['version']);
    expect(second).not.toBe(first);
    const compared = await talk.ok('compare_lambda_versions', { ...lambda, from: 'live', to: second });
    expect(compared.text).toContain('sum(total) / 100');
    const before = await talk.ok('execute_lambda_tag', { ...lambda, tag: 'live', parameters: least });
    expect(before.structured['rows']).toEqual(tried.structured['rows']);

    await talk.ok('tag_lambda_version', { ...lambda, tag: 'live', version: second });
    const after = await talk.ok('execute_lambda_tag', { ...lambda, tag: 'live', parameters: least });
    expect(after.structured['rows']).toEqual([
      ['Cairo', 5.4],
      ['Rome', 5.4],
    ]);
    const used = await talk.ok('get_lambda_tag', { ...lambda, tag: 'live' });
    expect(used.structured).toMatchObject({
      tag_name: 'live',
      version: { version: second, description: 'In hundreds' },
    });
    talk.end('author a lambda');
  },
};

const administer: Scenario = {
  name: 'story: administers, and deletes only with consent',
  async run(stage) {
    const asked: Question[] = [];
    let answer: Answer = { action: 'decline' };
    const talk = await begin(stage, (question) => {
      asked.push(question);
      return answer;
    });
    const { workspace } = stage;
    const email = `${workspace}@example.com`;
    const place = { workspace, collection: 'events' };

    await talk.ok('create_collection', { workspace, name: 'events', description: 'What happened' });
    await talk.ok('add_documents', { ...place, data: [{ _id: '1' }, { _id: '2' }] });
    await talk.ok('create_alias', { workspace, name: 'current', collections: [`${workspace}.events`] });
    const user = await talk.ok('create_user', { email, roles: ['read-only'] });
    expect(user.structured).toMatchObject({ email, roles: ['read-only'] });
    const key = await talk.ok('create_user_api_key', { user: email, name: `${workspace}-key` });
    expect(key.text).toContain(`${workspace}-key`);
    // A whole key is 64 characters; a model never sees one.
    expect(key.text).not.toMatch(/[A-Za-z0-9]{64}/);
    const entry = { name: `${workspace}-office`, ip_address: '192.0.2.0/24', description: 'The office' };
    await talk.ok('create_allowlist_entry', entry);
    const entries = await talk.ok('list_allowlist_entries');
    expect(entries.structured['items']).toEqual(expect.arrayContaining([expect.objectContaining(entry)]));

    // What others depend on cannot be deleted, and nobody is asked about it.
    const dependent = await talk.fails('delete_collection', place);
    expect(dependent).toContain('.current"');
    expect(asked).toHaveLength(0);
    answer = { action: 'accept', content: { yes: true } };
    await talk.ok('delete_alias', { workspace, alias: 'current' });
    expect(asked[0]?.message).toContain('"current"');

    answer = { action: 'decline' };
    expect(await talk.fails('delete_collection', place)).toContain('Nothing was changed');
    expect(asked.at(-1)?.message).toMatch(/2 documents/);
    expect(await talk.rows(`SELECT count(*) FROM "${workspace}".events`)).toEqual([[2]]);
    answer = { action: 'accept', content: { name: 'events' } };
    await talk.ok('delete_collection', place);
    expect(await talk.fails('get_collection', place)).toContain('does not exist');

    answer = { action: 'accept', content: { yes: true, name: email } };
    await talk.ok('delete_allowlist_entry', { name: entry.name });
    await talk.ok('delete_user', { user: email });
    expect((await talk.ok('list_users')).text).not.toContain(email);
    talk.end('administer');
  },
};

/** The three ways in which people come to use this, each as one conversation, judged by what the answers say. */
export const STORIES: readonly Scenario[] = [explore, author, administer];
