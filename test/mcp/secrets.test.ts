import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contract, inputShape, OPERATIONS } from '../../src/contract/contract.ts';
import { INTEGRATION_KINDS } from '../../src/contract/integrations.ts';
import { type Client, createClient } from '../../src/http/client.ts';
import { callTool, runTool } from '../../src/mcp/call.ts';
import { elicitingHuman } from '../../src/mcp/guard/guard.ts';
import { createApprovals } from '../../src/mcp/guard/signed-states.ts';
import { tools } from '../../src/mcp/tools/tools.ts';
import { startTestService, type TestService } from '../service/harness.ts';

const SECRET = 'Zk9-plain-secret-Q7';

let service: TestService;
let client: Client;
beforeAll(async () => {
  service = await startTestService();
  client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
});
afterAll(async () => {
  await client.close();
  await service.remove();
});

function call(name: string, args: Record<string, unknown>) {
  return callTool({ client, name, args, confirm: async () => true });
}

it('a secret given plainly is told of, with references only where the server takes them', async () => {
  const means = { secretOf: () => SECRET };
  const nextOf = async (name: string, more: { means?: typeof means }) => {
    const args = { name, mongodb: { connection_uri: `mongodb://u:${SECRET}@h` } };
    const answer = await callTool({ client, name: 'create_integration', args, confirm: async () => true, ...more });
    return answer.structured['next'];
  };
  expect(await nextOf('resolves', { means })).toContain('A reference keeps the next one out of it');
  const without = await nextOf('takes-none', {});
  expect(without).toContain('This server takes no references to secrets.');
  expect(without).not.toContain('env:NAME');
});

describe('secrets of an integration in what a model reads', () => {
  const key = { cloud_access_key_id: 'AKID', cloud_secret_access_key: SECRET };
  it.each<[string, Record<string, unknown>]>([
    ['a key', { s3: { cloud_access_key: key } }],
    ['a key as JSON text', { s3: JSON.stringify({ cloud_access_key: key }) }],
    ['a connection string', { mongodb: { connection_uri: `mongodb://u:${SECRET}@h` } }],
    ['an account', { gcs: { gcp_service_account: { private_key: SECRET } } }],
    ['a password', { kafka: { kafka_topic_names: ['t'], security_config: { api_key: SECRET, secret: SECRET } } }],
  ])('%s is masked in the answers', async (what, args) => {
    const name = what.replaceAll(' ', '-');
    const answers = [
      await call('create_integration', { name, ...args }),
      await call('get_integration', { integration: name }),
      await call('list_integrations', {}),
      await call('create_integration', { name, ...args }),
      await call('delete_integration', { integration: name }),
    ];
    expect(answers.map((answer) => answer.isError)).toEqual([false, false, false, true, false]);
    expect(answers[0]?.text).toContain('********');
    expect(JSON.stringify(answers)).not.toContain(SECRET);
  });

  it.each<[string, Record<string, unknown>]>([
    ['no name', { s3: { cloud_access_key: key } }],
    ['a bad name', { name: 'a b', s3: { cloud_access_key: key } }],
    ['an unknown argument', { name: 'a', password: SECRET }],
    ['a kind that is text', { name: 'a', s3: SECRET }],
    ['a kind that looks like JSON', { name: 'a', s3: `{"cloud_access_key": ${SECRET}` }],
    ['half a key', { name: 'a', s3: { cloud_access_key: { cloud_secret_access_key: SECRET } } }],
    ['both', { name: 'a', s3: { cloud_access_key: key, cloud_role: { cloud_role_arn: 'x' } } }],
    ['two kinds', { name: 'a', s3: { cloud_access_key: key }, segment: { signing_secret: SECRET } }],
    ['a string in the place of an object', { name: 'a', gcs: { gcp_service_account: SECRET } }],
    ['a connection string that is none', { name: 'a', mongodb: { connection_uri: `mongodb://u:a@${SECRET}@h` } }],
    ['a number that JSON cannot write', { name: 'a', gcs: { gcp_service_account: { a: SECRET, b: Number.NaN } } }],
    ['half a character', { name: 'a', gcs: { gcp_service_account: { a: SECRET, b: '\ud800' } } }],
  ])('%s: the refusal does not repeat it', async (_, args) => {
    const answer = await call('create_integration', args);
    expect(answer.isError).toBe(true);
    expect(JSON.stringify(answer)).not.toContain(SECRET);
    expect((await client.listIntegrations({})).map((one) => one.name)).not.toContain('a');
  });

  it('no delete takes a secret, so questions and refusals, which repeat arguments, contain none', async () => {
    for (const operation of OPERATIONS) {
      const row = contract[operation];
      if (row.effect !== 'delete') continue;
      for (const kind of INTEGRATION_KINDS) expect(Object.keys(inputShape(row))).not.toContain(kind);
    }
    await call('create_integration', { name: 'gone', gcs: { gcp_service_account: { a: SECRET } } });
    const tool = tools().get('delete_integration');
    if (tool === undefined) throw new Error('there is no such tool');
    const asker = { principal: 'test', command: 'colloquy' };
    for (const canAsk of [true, false]) {
      const human = elicitingHuman(createApprovals(), { canAsk, state: undefined, responses: undefined }, asker);
      const onFault = () => undefined;
      const args = { integration: 'gone' };
      const asked = await runTool({ tool, args, connect: async () => client, human, signal: undefined, onFault });
      expect(JSON.stringify(asked)).toContain('gone');
      expect(JSON.stringify(asked)).not.toContain(SECRET);
    }
  });
});
