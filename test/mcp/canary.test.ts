import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client as ModernClient } from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OPERATIONS, type Operation } from '../../src/contract/contract.ts';
import type { IntegrationKind } from '../../src/contract/integrations.ts';
import { type Client, createClient } from '../../src/http/client.ts';
import { openAuditLog } from '../../src/local/audit-log.ts';
import { keepKey } from '../../src/local/key-files.ts';
import { secretReader } from '../../src/local/secret-references.ts';
import type { Assistant } from '../../src/mcp/assistant.ts';
import { callTool } from '../../src/mcp/call.ts';
import { createApprovals } from '../../src/mcp/guard/signed-states.ts';
import { createServer } from '../../src/mcp/server.ts';
import { toolName } from '../../src/mcp/tools/catalog.ts';
import { tools } from '../../src/mcp/tools/tools.ts';
import { EXAMPLES, type Example } from '../contract-suite/examples.ts';
import { startTestService, type TestService } from '../service/harness.ts';
import { fakeClient } from './fake-client.ts';

/**
 * Secrets are planted wherever there can be any, every tool is called, and everything that leaves the process towards a
 * model, a log or the audit log is collected and searched for them.
 */

/** Even what the model itself revealed must not be repeated. */
const PLAIN = 'CANARYplain7Q';
const FROM_ENV = 'CANARYenvironment8R';
const FROM_FILE = 'CANARYfile9S';
const OUTSIDE = 'CANARYoutside1T';

const KINDS: readonly (readonly [IntegrationKind, (secret: string) => object])[] = [
  ['s3', (secret) => ({ cloud_access_key: { cloud_access_key_id: 'AKID', cloud_secret_access_key: secret } })],
  ['kinesis', (secret) => ({ cloud_access_key: { cloud_access_key_id: 'AKID', cloud_secret_access_key: secret } })],
  ['dynamodb', (secret) => ({ cloud_access_key: { cloud_access_key_id: 'AKID', cloud_secret_access_key: secret } })],
  [
    'redshift',
    (secret) => ({
      cloud_access_key: { cloud_access_key_id: 'AKID', cloud_secret_access_key: secret },
      username: 'u',
      password: secret,
      host: 'h',
      port: 5439,
      s3_bucket_path: 's3://b',
    }),
  ],
  ['gcs', (secret) => ({ gcp_service_account: { type: 'service_account', private_key: secret } })],
  ['segment', (secret) => ({ signing_secret: secret })],
];

let service: TestService;
let admin: Client;
let model: ModelSide;
let secretDir = '';
/** Keys that the examples created without the model. */
const madeKeys: string[] = [];
const logged: string[] = [];

interface ModelSide {
  client: ModernClient;
  /** Everything that the server sent. */
  sent: string[];
  settled(): Promise<void>;
}

async function connectModel(): Promise<ModelSide> {
  const [here, there] = InMemoryTransport.createLinkedPair();
  const sent: string[] = [];
  const send = there.send.bind(there);
  there.send = (message, options) => {
    sent.push(JSON.stringify(message));
    return send(message, options);
  };
  let attempts = 0;
  const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
  const audit = openAuditLog({ dataDir: service.folder, log });
  const variables = new Map([
    ['COLLOQUY_SECRET_A', FROM_ENV],
    ['COLLOQUY_SECRET_URI', `mongodb://user:${FROM_ENV}@host:27017/db`],
  ]);
  const assistant: Assistant = {
    connect: async () => {
      if (attempts++ > 0) return admin;
      // An internal error of the server, once: it is logged with everything that is known about it.
      throw new Error('not yet');
    },
    version: '0',
    log,
    principal: 'canary',
    tools: tools(),
    approvals: createApprovals(),
    guard: 'off',
    command: 'colloquy',
    means: {
      keepSecret: (label, secret) => keepKey(service.folder, label, secret),
      secretOf: secretReader({ variables, folder: secretDir }),
    },
    audit: { transport: 'stdio', observe: audit.append },
  };
  serveStdio(({ era }) => createServer(assistant, era), { transport: there, onerror: (error) => log.warn(error) });
  const client = new ModernClient(
    { name: 'canary', version: '1' },
    { capabilities: {}, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  await client.connect(here);
  return { client, sent, settled: audit.settled };
}

beforeAll(async () => {
  service = await startTestService();
  secretDir = join(service.folder, 'secrets');
  mkdirSync(secretDir, { mode: 0o700 });
  writeFileSync(join(secretDir, 'plain'), `${FROM_FILE}\n`);
  writeFileSync(join(secretDir, 'uri'), `mongodb://user:${FROM_FILE}@host:27017/db\n`);
  writeFileSync(join(secretDir, 'account.json'), JSON.stringify({ type: 'service_account', private_key: FROM_FILE }));
  writeFileSync(join(service.folder, 'outside'), OUTSIDE);
  const client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
  const remember =
    <Input extends unknown[], Result extends { key?: string | null | undefined }>(
      make: (...input: Input) => Promise<Result>,
    ) =>
    async (...input: Input) => {
      const result = await make(...input);
      madeKeys.push(String(result.key));
      return result;
    };
  admin = {
    ...client,
    createApiKey: remember(client.createApiKey),
    createUserApiKey: remember(client.createUserApiKey),
    createIntegration: async (...input: Parameters<typeof client.createIntegration>) => {
      const made = await client.createIntegration(...input);
      if (made.segment != null) madeKeys.push(String(made.segment.connection_string));
      return made;
    },
  } as Client;
  model = await connectModel();
});
afterAll(async () => {
  await model.client.close();
  await admin.close();
  await service.remove();
});

interface Result {
  isError?: boolean | undefined;
  structuredContent?: Record<string, unknown> | undefined;
}

async function call(name: string, args: object): Promise<Result> {
  const result = await model.client.callTool({ name, arguments: { ...args } });
  return { isError: result.isError === true, structuredContent: result.structuredContent as Record<string, unknown> };
}

/** Everything that was sent or written so far, by destination. */
async function outlets(): Promise<Record<string, string>> {
  await model.settled();
  return {
    model: model.sent.join('\n'),
    log: logged.join(''),
    'log of the service': JSON.stringify(service.lines),
    audit: readFileSync(join(service.folder, 'audit.log'), 'utf8'),
  };
}

async function expectNoCanary(): Promise<void> {
  const inFiles = readdirSync(join(service.folder, 'keys')).map((name) =>
    readFileSync(join(service.folder, 'keys', name), 'utf8').trim(),
  );
  const secrets = [service.key, PLAIN, FROM_ENV, FROM_FILE, OUTSIDE, ...madeKeys, ...inFiles];
  for (const [where, text] of Object.entries(await outlets())) {
    expect(text.length, where).toBeGreaterThan(100);
    for (const secret of secrets) {
      expect(text.includes(secret), `${secret.slice(0, 12)}… in ${where}`).toBe(false);
    }
  }
}

describe('no secret leaves towards a model, a log or the audit log', () => {
  it('when a call fails inside the server', async () => {
    const args = {
      name: 'fault',
      segment: { signing_secret: 'env:COLLOQUY_SECRET_A', connection_string: `${PLAIN}-write-key` },
    };
    expect((await call('create_integration', args)).isError).toBe(true);
  });

  it.each(OPERATIONS)('when %s is called, rightly, wrongly and with secrets where none belong', async (operation) => {
    const name = toolName(operation);
    const { success, failure } = EXAMPLES[operation] as Example<Operation>;
    const right = await success.input(admin, `canary-${operation.toLowerCase()}`);
    const done = await call(name, right);
    expect(done.isError, JSON.stringify(done.structuredContent)).toBe(false);
    await call(name, await failure.input(admin, `no-${operation.toLowerCase()}`));
    await call(name, { ...right, password: PLAIN, [PLAIN.toLowerCase()]: { deep: [PLAIN] } });
    await call(name, {});
  });

  it('when the other tools are called', async () => {
    await admin.createCollection({ workspace: 'commons', name: 'canaries' });
    await admin.addDocuments({ workspace: 'commons', collection: 'canaries', data: [{ a: 1 }] });
    const known = new Set(OPERATIONS.map(toolName));
    const others = [...tools().keys()].filter((name) => !known.has(name));
    expect(others).toContain('describe_collection');
    for (const name of others) {
      await call(name, { workspace: 'commons', collection: 'canaries', password: PLAIN });
      await call(name, { workspace: 'commons', collection: 'canaries' });
    }
  });

  it.each(KINDS)('when the secrets of %s are given plainly, by variable and by file', async (kind, config) => {
    const ways = { plain: PLAIN, variable: 'env:COLLOQUY_SECRET_A', file: 'file:plain' };
    for (const [way, secret] of Object.entries(ways)) {
      const integration = `${kind}-${way}`;
      const args = { name: integration, [kind]: config(secret) };
      const made = await call('create_integration', args);
      expect(made.isError, JSON.stringify(made.structuredContent)).toBe(false);
      const { next } = made.structuredContent ?? {};
      expect(String(next).includes('reference')).toBe(way === 'plain');
      await call('create_integration', args);
      await call('get_integration', { integration });
      await call('list_integrations', {});
      await call('create_integration', { ...args, name: 'a b' });
      await call('create_integration', {
        ...args,
        [kind]: JSON.stringify(config(secret)),
        name: `${integration}-text`,
      });
      if (kind !== 'kafka') await call('create_integration', { ...args, kafka: { kafka_topic_names: [secret] } });
      for (const unknown of [{ sasl_password: secret }, { security: { api_key: secret } }, { [kind]: [secret] }]) {
        const wrong = { ...config(secret), ...unknown };
        const refused = await call('create_integration', { name: 'wrong', [kind]: wrong });
        expect(refused.isError).toBe(true);
      }
      await call('delete_integration', { integration });
    }
  });

  it('when they are given in fields that a kind does not have', async () => {
    const kafka = { kafka_topic_names: ['a'], kafka_data_format: 'json' };
    const unknown = { password: PLAIN, sasl_password: PLAIN, security_config: { api_key: 'k', secret: [PLAIN] } };
    for (const given of [{ ...kafka, ...unknown }, JSON.stringify({ ...kafka, ...unknown }), { ...unknown }]) {
      expect((await call('create_integration', { name: 'kf', kafka: given })).isError).toBe(true);
    }
    const sources = [{ integration_name: 'kf', s3: { bucket: 'b', token: PLAIN }, credentials: { password: PLAIN } }];
    expect((await call('create_collection', { workspace: 'commons', name: 'kf', sources })).isError).toBe(true);
    const reference = { cloud_access_key_id: 'env:COLLOQUY_SECRET_A', cloud_secret_access_key: 'file:plain' };
    expect((await call('create_integration', { name: 'kf', s3: { cloud_access_key: reference } })).isError).toBe(true);
  });

  it('when whole connection strings and accounts are given by reference', async () => {
    for (const [way, uri] of Object.entries({ variable: 'env:COLLOQUY_SECRET_URI', file: 'file:uri' })) {
      const made = await call('create_integration', { name: `mongo-${way}`, mongodb: { connection_uri: uri } });
      expect(JSON.stringify(made.structuredContent)).toContain('mongodb://user:********@host:27017/db');
    }
    const gcs = { gcp_service_account: 'file:account.json' };
    expect((await call('create_integration', { name: 'account', gcs })).isError).toBe(false);
  });

  it.each([
    ['a variable that may not be named', { mongodb: { connection_uri: 'env:HOME' } }],
    ['a file elsewhere', { segment: { signing_secret: 'file:../outside' } }],
    ['a file that is none', { segment: { signing_secret: 'file:none' } }],
    ['what is no connection string', { mongodb: { connection_uri: 'file:plain' } }],
    ['what is no object', { gcs: { gcp_service_account: 'env:COLLOQUY_SECRET_A' } }],
    ['in the place of a kind', { segment: 'file:plain' }],
  ])('when a reference is %s', async (_, kind) => {
    expect((await call('create_integration', { name: 'refused', ...kind })).isError).toBe(true);
  });

  it('when resources, prompts and completions are asked for', async () => {
    const { client } = model;
    const { resources } = await client.listResources();
    for (const { uri } of resources.slice(0, 60)) await client.readResource({ uri });
    await client.readResource({ uri: 'colloquy://workspaces/none' }).catch(() => undefined);
    const { resourceTemplates } = await client.listResourceTemplates();
    for (const { uriTemplate: uri } of resourceTemplates) {
      for (const [, name = ''] of uri.matchAll(/\{(\w+)\}/g)) {
        await client.complete({ ref: { type: 'ref/resource', uri }, argument: { name, value: '' } });
      }
    }
    const { prompts } = await client.listPrompts();
    for (const { name } of prompts) await client.getPrompt({ name, arguments: {} }).catch(() => undefined);
    await client.listTools();
  });

  it('when the name of a tool is one', async () => {
    await expect(model.client.callTool({ name: service.key, arguments: {} })).rejects.toThrow();
    // The model knew the key already: it must only not be recorded.
    await model.settled();
    expect(readFileSync(join(service.folder, 'audit.log'), 'utf8')).not.toContain(service.key);
    model.sent.pop();
  });

  it('and none of all that has reached any output', expectNoCanary);

  it('and yet the secrets have arrived where they belong', () => {
    const files = readdirSync(join(service.folder, 'keys'));
    const values = files.map((name) => readFileSync(join(service.folder, 'keys', name), 'utf8').trim());
    expect(values.length).toBeGreaterThanOrEqual(2);
    for (const value of values) expect(value).toMatch(/^[A-Za-z0-9]{64}$/);
    expect(madeKeys).toEqual(expect.arrayContaining(values));
  });
});

describe('a service that keeps no secret itself', () => {
  const KEY = 'k'.repeat(64);
  const answered = async (name: string, args: object, answers: Parameters<typeof fakeClient>[0]) => {
    const { client } = fakeClient(answers);
    const means = { secretOf: () => FROM_ENV };
    const confirm = async () => true;
    return JSON.stringify(await callTool({ client, name, args: { ...args }, confirm, means }));
  };

  it('has keys and credentials masked on their way to a model', async () => {
    const keys = await answered('list_api_keys', {}, { listApiKeys: () => [{ name: 'a', key: KEY }] });
    expect(keys).toContain('********');
    expect(keys).not.toContain(KEY);
    const s3 = { cloud_access_key: { cloud_access_key_id: 'AKID', cloud_secret_access_key: PLAIN } };
    const stored = await answered('list_integrations', {}, { listIntegrations: () => [{ name: 'a', s3 }] });
    expect(stored).toContain('AKID');
    expect(stored).not.toContain(PLAIN);
  });

  it('may repeat what a reference stood for, and the model does not read it', async () => {
    const args = { name: 'a', segment: { signing_secret: 'env:COLLOQUY_SECRET_A' } };
    const echo = (input: object) => ({ name: 'a', description: `got ${JSON.stringify(input)}` });
    const told = await answered('create_integration', args, { createIntegration: echo });
    expect(told).toContain('********');
    expect(told).not.toContain(FROM_ENV);
  });
});
