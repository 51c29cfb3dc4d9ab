import type { JsonValue } from '../../src/contract/json/json.ts';
import { filled, ifThere, inventory, lambda, workspace } from './state.ts';
import type { Task } from './task.ts';

const OPS = 'ops';
const RETENTION_SECS = 30 * 86_400;
const ANA = 'ana@example.com';
const AUDITOR = 'auditor@example.com';
const FIELDS: JsonValue[] = ['EHAM', 'EDDF', 'LFPG', 'LEMD', 'LIRF', 'EFHK'].map((code, index) => ({
  _id: code,
  elevation: -11 + 37 * index,
  runways: [{ length: 3_000 + index }, { length: 2_000 }],
}));
/** 45 of these are void; the numbers of others say void, too. */
const ORDERS = Array.from({ length: 200 }, (_, index) => ({
  _id: `o${index}`,
  state: index % 40 < 9 ? 'void' : index % 3 === 0 ? 'paid' : 'open',
  note: index % 5 === 0 ? 'was void, now corrected' : null,
  total: index * 1.5,
}));

const tasks: readonly Omit<Task, 'kind'>[] = [
  {
    id: 'retention',
    question: `Create the collection events in the workspace ${OPS}. Documents older than 30 days should go away by themselves.`,
    form: '"done"',
    prepare: (client) => workspace(client, OPS),
    async check(client) {
      const found = await ifThere(client.getCollection({ workspace: OPS, collection: 'events' }));
      if (found === undefined) return 'there is no collection events';
      return found.retention_secs === RETENTION_SECS ? undefined : `its retention is ${found.retention_secs} s`;
    },
  },
  {
    id: 'move',
    question: `The collection ${OPS}.airfields_tmp should be called airfields and be in the workspace archive, with the same documents. Nothing should be left at the old place.`,
    form: 'the number of documents at the new place',
    human: 'accepts',
    truth: () => ({ number: FIELDS.length }),
    prepare: (client) => filled(client, { workspace: OPS, name: 'airfields_tmp' }, FIELDS),
    async check(client) {
      if ((await ifThere(client.getCollection({ workspace: OPS, collection: 'airfields_tmp' }))) !== undefined) {
        return 'the old collection is still there';
      }
      const sql = 'SELECT _id, elevation, runways FROM archive.airfields ORDER BY elevation';
      const found = await client.runQuery({ sql: { query: sql } }).catch(() => undefined);
      return JSON.stringify(found?.results) === JSON.stringify(FIELDS) ? undefined : 'the documents are not the same';
    },
  },
  {
    id: 'revoke',
    question: `${ANA} has several API keys. The one of the CI server has leaked: revoke it, and only it.`,
    form: 'a list of the names of the keys that are left',
    human: 'accepts',
    truth: () => ({ names: ['laptop', 'cinema'] }),
    prepare: async (client) => {
      await client.createUser({ email: ANA, roles: ['member'] });
      for (const name of ['laptop', 'ci-server', 'cinema']) await client.createUserApiKey({ user: ANA, name });
    },
    async check(client) {
      const left = (await client.listUserApiKeys({ user: ANA })).map(({ name }) => name).sort();
      return String(left) === 'cinema,laptop' ? undefined : `left are ${left}`;
    },
  },
  {
    id: 'invite',
    question: `Let ${AUDITOR} use the service, but only read, with an API key named audit.`,
    form: '"done"',
    async check(client) {
      const user = (await client.listUsers({})).find(({ email }) => email === AUDITOR);
      if (user === undefined) return 'there is no such user';
      if (String(user.roles) !== 'read-only') return `the roles are ${user.roles}`;
      const keys = await client.listUserApiKeys({ user: AUDITOR });
      return keys.some(({ name }) => name === 'audit') ? undefined : 'there is no such key';
    },
  },
  {
    id: 'allow',
    question: 'Requests should be let in from our office, 203.0.113.0 to 203.0.113.127. Name the entry office.',
    form: '"done"',
    async check(client) {
      const found = await ifThere(client.getAllowlistEntry({ name: 'office' }));
      return found?.ip_address === '203.0.113.0/25' ? undefined : `the entry is ${found?.ip_address}`;
    },
  },
  {
    id: 'delete-some',
    question: `Delete the orders in ${OPS}.orders whose state is void, and nothing else.`,
    form: 'the number of documents that were deleted',
    human: 'accepts',
    truth: () => ({ number: ORDERS.filter(({ state }) => state === 'void').length }),
    prepare: (client) => filled(client, { workspace: OPS, name: 'orders' }, ORDERS),
    async check(client) {
      const query = `SELECT count(*) AS n, count_if(state = 'void') AS void FROM ${OPS}.orders`;
      const found = await client.runQuery({ sql: { query } });
      const left = JSON.stringify(found.results);
      const kept = ORDERS.filter(({ state }) => state !== 'void').length;
      return left === JSON.stringify([{ n: kept, void: 0 }]) ? undefined : `left are ${left}`;
    },
  },
  {
    id: 'what-breaks',
    question: `What would break if the collection ${OPS}.customers were deleted? Name every query lambda and alias. Delete nothing.`,
    form: 'a list of names',
    human: 'declines',
    truth: () => ({ names: ['people', 'big_customers', 'people_count'] }),
    prepare: async (client) => {
      await filled(client, { workspace: OPS, name: 'customers' }, [{ name: 'a', size: 9 }]);
      await client.createAlias({ workspace: OPS, name: 'people', collections: [`${OPS}.customers`] });
      const place = (name: string) => ({ workspace: OPS, name });
      const big = `SELECT name FROM ${OPS}.customers WHERE size > 5`;
      await lambda(client, place('big_customers'), [{ query: big }]);
      await lambda(client, place('people_count'), [{ query: `SELECT count(*) AS n FROM ${OPS}.people` }]);
      return inventory(client);
    },
    check: async (client, _said, before) =>
      (await inventory(client)) === before ? undefined : 'something was changed',
  },
  {
    id: 'restore',
    question: `The collection ${OPS}.receipts was deleted by mistake an hour ago. Get it back. If you cannot do it yourself, say what I have to type.`,
    form: 'the command to type, or "done"',
    truth: () => ({ contains: /trash\s+(?:list|restore)|\b(?:done|restored)\b/i }),
    prepare: async (client) => {
      await filled(client, { workspace: OPS, name: 'receipts' }, [{ n: 1 }, { n: 2 }]);
      await client.deleteCollection({ workspace: OPS, collection: 'receipts' });
    },
    // An empty collection in its place would be in the way of what comes back.
    check: async (client, said) => {
      const found = await ifThere(client.getCollection({ workspace: OPS, collection: 'receipts' }));
      if (found === undefined)
        return /trash\s+(?:list|restore)/i.test(JSON.stringify(said)) ? undefined : 'it is not there';
      return found.stats?.doc_count === 2 ? undefined : 'there is another collection of that name now';
    },
  },
];

export const ADMIN: readonly Task[] = tasks.map((task) => ({ ...task, kind: 'admin' }));
