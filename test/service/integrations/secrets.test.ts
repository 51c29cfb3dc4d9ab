import { chmod, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pino from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { openEngine } from '../../../src/engine/duckdb/open.ts';
import { openCatalog } from '../../../src/service/catalog/catalog.ts';
import { connectionOf } from '../../../src/service/integrations/integrations.ts';
import { openSecrets } from '../../../src/service/integrations/secrets.ts';
import { filesOf, makeFolder, startTestService, type TestService } from '../harness.ts';

const PATH = '/v1/orgs/self/integrations';
const SECRET = 'Zk9-plain-secret-Q7';
const WRITE_KEY = 'Zk9-the-write-key-Q8';
const CONFIGS = {
  s3: { cloud_access_key: { cloud_access_key_id: 'AKID', cloud_secret_access_key: SECRET } },
  redshift: {
    cloud_access_key: { cloud_access_key_id: 'AKID', cloud_secret_access_key: SECRET },
    username: 'u',
    password: SECRET,
    host: 'h',
    port: 1,
    s3_bucket_path: 'p',
  },
  gcs: { gcp_service_account: { type: 'service_account', private_key: SECRET, nested: { deep: [SECRET] } } },
  segment: { connection_string: WRITE_KEY, signing_secret: SECRET },
  mongodb: { connection_uri: `mongodb://u:${SECRET}@h/db?proxyPassword=${SECRET}` },
};

const folders = new Set<string>();
afterEach(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
  folders.clear();
});

async function start(folder?: string): Promise<TestService> {
  const service = await startTestService({}, folder ?? (await makeFolder()));
  folders.add(service.folder);
  return service;
}

function createAll(service: TestService) {
  return Promise.all(
    Object.entries(CONFIGS).map(([kind, config]) => service.call('POST', PATH, { name: `my-${kind}`, [kind]: config })),
  );
}

/** The bytes of all files of a folder, by path. */
async function bytesOf(folder: string): Promise<Map<string, Buffer>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(await Promise.all(files.map(async (file) => [file, await readFile(file)] as const)));
}

async function filesWith(folder: string, text: string): Promise<string[]> {
  return [...(await bytesOf(folder))].filter(([, bytes]) => bytes.includes(text)).map(([file]) => file);
}

/** What a source reads to connect, from the folder of a closed service. */
async function connections(folder: string) {
  const { databaseFile, secretKeyFile } = filesOf(folder);
  const engine = await openEngine({ file: databaseFile, log: pino({ level: 'silent' }) });
  const catalog = openCatalog(engine);
  const ctx = { catalog, secrets: openSecrets(secretKeyFile) };
  const read = await Promise.allSettled(Object.keys(CONFIGS).map((kind) => connectionOf(ctx, `my-${kind}`)));
  await engine.close();
  return read;
}

describe('the secrets of integrations', () => {
  it('are in no file, no answer and no log line, and come back for whoever connects', async () => {
    const service = await start();
    const answers = await createAll(service);
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 200, 200]);
    answers.push(await service.call('GET', PATH));
    // Something that is not secret is found, so the search would find a secret as well.
    expect(await filesWith(service.folder, 'my-segment')).not.toEqual([]);
    const forms = [
      SECRET,
      WRITE_KEY,
      Buffer.from(SECRET).toString('base64').slice(0, 20),
      Buffer.from(SECRET).toString('hex'),
    ];
    for (const form of forms) expect(await filesWith(service.folder, form)).toEqual([]);
    await service.stop();
    for (const form of forms) expect(await filesWith(service.folder, form)).toEqual([]);
    for (const answer of answers) expect(answer.text).not.toContain(SECRET);
    expect(JSON.stringify(service.lines)).not.toMatch(`${SECRET}|${WRITE_KEY}`);

    const read = await connections(service.folder);
    expect(read.map((one) => (one.status === 'fulfilled' ? [one.value.kind, one.value.config] : one.reason))).toEqual(
      Object.entries(CONFIGS).map(([kind, config]) => [kind, kind === 's3' ? { ...config, cloud_role: null } : config]),
    );
  });

  it('are encrypted under a key that only its owner can read, and that stays', async () => {
    const service = await start();
    const { secretKeyFile } = filesOf(service.folder);
    await service.call('POST', PATH, { name: 'open', kafka: { kafka_topic_names: ['a'] } });
    await expect(stat(secretKeyFile)).rejects.toMatchObject({ code: 'ENOENT' });
    await createAll(service);
    expect((await stat(secretKeyFile)).mode & 0o777).toBe(0o600);
    const key = await readFile(secretKeyFile, 'utf8');
    expect(key).toMatch(/^[0-9a-f]{64}\n$/);
    const list = await service.call('GET', PATH);
    await service.stop();
    await chmod(secretKeyFile, 0o644);
    const again = await start(service.folder);
    expect((await again.call('GET', PATH)).body).toEqual(list.body);
    expect((await again.call('POST', PATH, { name: 'one-more', segment: { signing_secret: 'b' } })).status).toBe(200);
    expect((await stat(secretKeyFile)).mode & 0o777).toBe(0o600);
    expect(await readFile(secretKeyFile, 'utf8')).toBe(key);
    await again.stop();
    expect((await readdir(service.folder)).filter((name) => name.startsWith('secret.key'))).toEqual(['secret.key']);
  });

  it.each<[string, (file: string) => Promise<void>, RegExp]>([
    ['lost', (file) => rm(file), /is missing/],
    ['another one', (file) => writeFile(file, `${'ab'.repeat(32)}\n`), /another key|another one/],
    ['damaged', (file) => writeFile(file, 'nonsense'), /does not hold one key/],
  ])(
    'with a key file that is %s, integrations are listed and deleted; what needs the key says why',
    async (_, harm, why) => {
      const first = await start();
      const { secretKeyFile } = filesOf(first.folder);
      await createAll(first);
      await first.stop();
      await rename(secretKeyFile, `${secretKeyFile}.kept`);
      await writeFile(secretKeyFile, await readFile(`${secretKeyFile}.kept`));
      await harm(secretKeyFile);

      const read = await connections(first.folder);
      for (const one of read) {
        expect(one).toMatchObject({
          status: 'rejected',
          reason: { code: 'internal', message: expect.stringMatching(why) },
        });
      }
      const service = await start(first.folder);
      expect((await service.call('GET', PATH)).body.data).toHaveLength(5);
      expect((await service.call('GET', `${PATH}/my-s3`)).status).toBe(200);
      expect((await service.call('POST', PATH, { name: 'open', kafka: { kafka_topic_names: ['a'] } })).status).toBe(
        200,
      );
      const refused = await service.call('POST', PATH, { name: 'more', segment: { signing_secret: SECRET } });
      expect([refused.status, refused.body.type]).toEqual([500, 'INTERNALERROR']);
      expect(refused.body.message).toMatch(why);
      expect(refused.body.message).toContain(secretKeyFile);
      expect(refused.text + JSON.stringify(service.lines)).not.toContain(SECRET);

      await rename(`${secretKeyFile}.kept`, secretKeyFile);
      expect((await service.call('POST', PATH, { name: 'more', segment: { signing_secret: SECRET } })).status).toBe(
        200,
      );
      await rm(secretKeyFile);
      for (const name of ['more', ...Object.keys(CONFIGS).map((kind) => `my-${kind}`)]) {
        expect((await service.call('DELETE', `${PATH}/${name}`)).status).toBe(200);
      }
      expect((await service.call('POST', PATH, { name: 'anew', segment: { signing_secret: SECRET } })).status).toBe(
        200,
      );
      await service.stop();
    },
  );

  it('of one integration cannot be passed off as those of another', async () => {
    const folder = await makeFolder();
    folders.add(folder);
    const secrets = openSecrets(join(folder, 'secret.key'));
    const sealer = await secrets.sealer({ make: true });
    const sealed = sealer?.seal({ a: SECRET }, 'one');
    if (sealed === undefined) throw new Error('no sealer');
    expect(await secrets.open(sealed, 'one')).toEqual({ a: SECRET });
    expect(sealer?.seal({ a: SECRET }, 'one').data).not.toBe(sealed.data);
    await expect(secrets.open(sealed, 'two')).rejects.toMatchObject({ message: expect.stringContaining('damaged') });
    const cut = { ...sealed, tag: sealed.tag.slice(0, 8) };
    await expect(secrets.open(cut, 'one')).rejects.toMatchObject({ message: expect.stringContaining('damaged') });
  });

  it('two that make the key file at once get one key', async () => {
    const folder = await makeFolder();
    folders.add(folder);
    const file = join(folder, 'secret.key');
    const sealers = await Promise.all(Array.from({ length: 8 }, () => openSecrets(file).sealer({ make: true })));
    expect(new Set(sealers.map((sealer) => sealer?.keyId)).size).toBe(1);
    expect(await readdir(folder)).toEqual(['secret.key']);
  });
});

describe('an integration that a collection uses', () => {
  it('lists it, and cannot be deleted', async () => {
    const service = await start();
    const sources = [{ integration_name: 'used' }];
    await service.call('POST', PATH, { name: 'used', segment: {} });
    await service.call('POST', '/v1/orgs/self/ws/commons/collections', { name: 'fed', sources });
    const read = await service.call('GET', `${PATH}/used`);
    expect(read.body.data.collections).toMatchObject([{ name: 'fed', workspace: 'commons', status: 'READY' }]);
    const refused = await service.call('DELETE', `${PATH}/used`);
    expect([refused.status, refused.body.type]).toEqual([409, 'DEPENDENTRESOURCES']);
    expect(refused.body.message).toBe(
      'Cannot delete integration "used": it is used by collection "commons.fed". Change or delete these first.',
    );
    await service.call('DELETE', '/v1/orgs/self/ws/commons/collections/fed');
    expect((await service.call('DELETE', `${PATH}/used`)).status).toBe(200);
    await service.stop();
  });
});
