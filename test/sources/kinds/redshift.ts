import pg from 'pg';
import { READER, startPostgres } from '../servers/postgres.ts';
import type { KindUnderTest } from './kind.ts';

const ROWS_AT_ONCE = 5_000;

export const redshift: KindUnderTest = {
  kind: 'redshift',
  lacks: ['remove', 'spoil'],
  async start() {
    const server = await startPostgres();
    return {
      port: () => server.port,
      connection: (port) => ({ ...READER, host: '127.0.0.1', port, tls: false }),
      wrong: (port) => ({ ...READER, password: 'wrong-secret', host: '127.0.0.1', port, tls: false }),
      source: (place) => ({ database: 'shop', table_name: place, incremental_field: 'at' }),
      async fill(place, count) {
        await server.sql(`CREATE TABLE ${place} (n int PRIMARY KEY, v int, name text, at timestamptz DEFAULT now())`);
        await server.sql(
          `INSERT INTO ${place} SELECT i, i, 'name of ' || i, now() - interval '1 day' FROM generate_series(1, $1) i`,
          [count],
        );
      },
      change: async (place, n, v) =>
        void (await server.sql(`UPDATE ${place} SET v = $2, at = now() WHERE n = $1`, [n, v])),
      appends: false,
      restart: () => server.restart('immediate'),
      async bare(place) {
        const connection = { host: '127.0.0.1', port: server.port, user: READER.username, password: READER.password };
        const client = new pg.Client({ ...connection, database: 'shop' });
        await client.connect();
        await client.query('BEGIN');
        await client.query(`DECLARE rows CURSOR FOR SELECT * FROM ${place} ORDER BY n`);
        let count = 0;
        for (;;) {
          const { rows } = await client.query(`FETCH ${ROWS_AT_ONCE} FROM rows`);
          count += rows.length;
          if (rows.length < ROWS_AT_ONCE) break;
        }
        await client.end();
        return count;
      },
      close: () => server.close(),
    };
  },
};
