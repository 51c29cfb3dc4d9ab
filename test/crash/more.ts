import { pick, type Random, type State, WORKSPACE, type Worker } from './load.ts';

const RETENTION_SECS = 3_600;

/** Adds and deletes documents of a collection with a retention; many are long past it, and must never be seen. */
export function retentionWorker(random: Random): Worker {
  let step = 0;
  const place = { workspace: WORKSPACE, collection: 'short' };
  return {
    name: 'short',
    async prepare(client) {
      await client.createCollection({ workspace: WORKSPACE, name: 'short', retention_secs: RETENTION_SECS });
      await client.addDocuments({ ...place, data: [{ _id: 'seed', v: 0 }] });
    },
    next(state) {
      step += 1;
      const stored = Object.keys(state);
      if (random() < 0.25 && stored.length > 50) {
        const gone = new Set(stored.filter(() => random() < 0.3));
        return {
          name: `delete ${gone.size} documents`,
          run: async (client) =>
            gone.size === 0 ? undefined : client.deleteDocuments({ ...place, data: [...gone].map((_id) => ({ _id })) }),
          after: Object.fromEntries(Object.entries(state).filter(([id]) => !gone.has(id))),
        };
      }
      const ids = [...new Set(Array.from({ length: 1 + pick(random, 400) }, () => `r${pick(random, 1_500)}`))];
      const after: Record<string, string> = { ...state };
      const data = ids.map((_id) => {
        const isOld = random() < 0.5;
        if (isOld) delete after[_id];
        else after[_id] = String(step);
        const at = Date.now() - (isOld ? (RETENTION_SECS + 60) * 1_000 : 0);
        return { _id, v: step, _event_time: new Date(at).toISOString() };
      });
      return {
        name: `add ${data.length} documents`,
        run: (client) => client.addDocuments({ ...place, data }),
        after,
      };
    },
    async read(client) {
      const query = `SELECT _id, v FROM "${WORKSPACE}"."short" LIMIT 50000`;
      const { results } = await client.runQuery({ sql: { query } });
      const state: Record<string, string> = {};
      for (const { _id, v } of (results ?? []) as Record<string, unknown>[]) {
        const id = String(_id);
        state[id in state ? `${id} (again)` : id] = String(v);
      }
      return state;
    },
  };
}

/** Creates and deletes users and their API keys. */
export function userWorker(random: Random): Worker {
  let step = 0;
  return {
    name: 'users',
    prepare: async () => undefined,
    next(state) {
      step += 1;
      const emails = Object.keys(state);
      const email = emails[pick(random, emails.length)] ?? '';
      const keys = (state[email] ?? '').split(',').filter((name) => name !== '');
      const kind = random();
      if (emails.length < 2 || (kind < 0.3 && emails.length < 10)) {
        const made = `user${step}@example.com`;
        return {
          name: `create user ${made}`,
          run: (client) => client.createUser({ email: made, roles: ['member'] }),
          after: { ...state, [made]: '' },
        };
      }
      if (kind < 0.7 && keys.length < 5) {
        const name = `k${step}`;
        return {
          name: `create key ${name} of ${email}`,
          run: (client) => client.createUserApiKey({ user: email, name }),
          after: { ...state, [email]: [...keys, name].sort().join() },
        };
      }
      const [gone] = keys;
      if (kind < 0.85 && gone !== undefined) {
        return {
          name: `delete key ${gone} of ${email}`,
          run: (client) => client.deleteUserApiKey({ user: email, name: gone }),
          after: { ...state, [email]: keys.slice(1).join() },
        };
      }
      return {
        name: `delete user ${email}`,
        run: (client) => client.deleteUser({ user: email }),
        after: Object.fromEntries(Object.entries(state).filter(([key]) => key !== email)),
      };
    },
    async read(client): Promise<State> {
      const state: Record<string, string> = {};
      for (const { email } of await client.listUsers({})) {
        const user = String(email);
        if (!user.startsWith('user')) continue;
        const keys = await client.listUserApiKeys({ user });
        state[user] = keys
          .map(({ name }) => String(name))
          .sort()
          .join();
      }
      return state;
    },
  };
}
