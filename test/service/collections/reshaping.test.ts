import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { MANIFEST } from '../../../src/service/backups/backup-files.ts';
import { runOnFile } from '../../engine/raw-file.ts';
import { filesOf, startTestService, type TestService } from '../harness.ts';

const PATH = '/v1/orgs/self/ws/commons/collections';
const DATABASE = 'data.duckdb';

/** The folder of a service whose collection `old` is as the version before stored it: one value made the field JSON. */
async function folderOfEarlier(): Promise<string> {
  const before = await startTestService();
  await before.call('POST', PATH, { name: 'old' });
  const data = Array.from({ length: 20 }, (_, n) => ({ _id: `d${n}`, n }));
  await before.call('POST', `${PATH}/old/docs`, { data });
  const sql = { query: "SELECT max(n->>'$') AS most FROM commons.old" };
  await before.call('POST', '/v1/orgs/self/ws/commons/lambdas', { name: 'reads', sql });
  await before.call('POST', '/v1/orgs/self/ws/commons/lambdas', { name: 'other', sql: { query: 'SELECT 1 AS n' } });
  await before.stop();
  await runOnFile(filesOf(before.folder).databaseFile, [
    `CREATE TABLE ids AS SELECT id FROM "_meta"."tables" WHERE name = 'old'`,
    `UPDATE "_meta"."tables" SET shape = '{"columns":[["n","json"]],"extra":false}' WHERE name = 'old'`,
  ]);
  const [[id] = []] = await runOnFile(filesOf(before.folder).databaseFile, ['SELECT id FROM ids']);
  await runOnFile(filesOf(before.folder).databaseFile, [
    'DROP TABLE ids',
    'DROP VIEW "commons"."old"',
    `ALTER TABLE "_data"."${id}" ALTER COLUMN n SET DATA TYPE JSON USING CASE WHEN n = 7 THEN '"x"'::JSON ELSE to_json(n) END`,
    `CREATE VIEW "commons"."old" AS SELECT * EXCLUDE ("_meta") FROM "_colloquy"."_data"."${id}"`,
  ]);
  return before.folder;
}

async function typeOf(service: TestService): Promise<string> {
  const { body } = await service.call('POST', '/v1/orgs/self/queries', {
    sql: { query: 'SELECT n FROM old ORDER BY _id' },
  });
  expect(body.results).toHaveLength(20);
  expect(body.results.map(({ n }: { n: unknown }) => n)).toContain('x');
  return body.column_fields[0].type;
}

it('a collection of an earlier version gets its columns in the background, after a backup that undoes it', async () => {
  const service = await startTestService({}, await folderOfEarlier());
  const backups = join(service.folder, 'backups');
  await vi.waitFor(async () => expect(await typeOf(service)).toBe('BIGINT'), { timeout: 20_000, interval: 50 });
  const told = () => service.lines.find(({ msg }) => String(msg).startsWith('fields have other types'));
  await vi.waitFor(() => expect(told()).toMatchObject({ lambdas: ['commons.reads'] }));
  const [made = ''] = readdirSync(backups);
  expect(made).toMatch(/^before-other-columns-/);
  expect(readdirSync(join(backups, made))).toEqual(expect.arrayContaining([MANIFEST, DATABASE, 'admin.key']));
  await service.stop();

  // What the backup has is the database as it was.
  const copy = mkdtempSync(join(tmpdir(), 'colloquy-undone-'));
  const undone = join(copy, DATABASE);
  cpSync(join(backups, made, DATABASE), undone);
  if (existsSync(join(backups, made, `${DATABASE}.wal`)))
    cpSync(join(backups, made, `${DATABASE}.wal`), `${undone}.wal`);
  expect(await runOnFile(undone, ['SELECT typeof(n), count(*) FROM "commons"."old" GROUP BY 1'])).toEqual([
    ['JSON', '20'],
  ]);
  rmSync(copy, { recursive: true });

  // Once is enough.
  const again = await startTestService({}, service.folder);
  expect(await typeOf(again)).toBe('BIGINT');
  expect(readdirSync(backups)).toEqual([made]);
  await again.remove();
});

it('without a backup nothing is changed, and it is tried again at the next start', async () => {
  const folder = await folderOfEarlier();
  const backups = join(folder, 'backups');
  // There cannot be a folder of this name.
  writeFileSync(backups, '');
  const service = await startTestService({}, folder);
  const said = () => service.lines.map(({ msg }) => msg);
  await vi.waitFor(() => expect(said()).toContainEqual(expect.stringContaining('there is no backup')));
  expect(await typeOf(service)).toBe('JSON');
  await service.stop();
  rmSync(backups);
  const again = await startTestService({}, folder);
  await vi.waitFor(async () => expect(await typeOf(again)).toBe('BIGINT'), { timeout: 20_000, interval: 50 });
  await again.remove();
});
