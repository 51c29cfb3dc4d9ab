import { createPublicKey, generateKeyPairSync, randomUUID, verify } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { createServer, type Server as HttpServer, request } from 'node:http';
import { join } from 'node:path';
import * as gcs from '../../../src/service/sources/gcs.ts';
import { newBucketName, type TestBucket, type TestStore } from './buckets.ts';
import { installedGo } from './go.ts';
import { dataFolder, freePort, type Server, start } from './server.ts';

/*
 * fake-gcs-server asks nobody who they are: before it stands a proxy that does, with a sign-in of its own, as Google's would
 * answer.
 */

const EMAIL = 'reader@project.iam.gserviceaccount.com';

export interface GcsStore extends TestStore {
  /** The text of the key file; with another key if it is to be wrong. */
  keyFile(isWrong?: boolean): string;
  /** From now on tokens are good for so long, in seconds. */
  setLifetime(seconds: number): void;
  /** Tokens that were given so far. */
  tokens(): number;
}

/** Its program. */
export const installGcs = () => installedGo('fake-gcs-server', 'github.com/fsouza/fake-gcs-server', 'v1.56.1');

export async function startGcs(): Promise<GcsStore> {
  const program = await installGcs();
  const folder = await dataFolder('gcs');
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const args = ['-scheme', 'http', '-host', '127.0.0.1', '-port', String(port), '-backend', 'filesystem'].concat([
    '-filesystem-root',
    join(folder, 'root'),
    '-external-url',
    `http://${address}`,
    '-public-host',
    address,
    '-log-level',
    'error',
  ]);
  const startIt = () => start(program, args, { port, folder });
  let server: Server = await startIt();
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const signIn = await startSignIn(pair.publicKey.export({ type: 'spki', format: 'pem' }).toString());
  const proxy = await startProxy(() => port, signIn.isGood);
  const keyFile = (isWrong = false) =>
    JSON.stringify({
      type: 'service_account',
      client_email: EMAIL,
      private_key_id: 'k1',
      private_key: (isWrong ? other : pair).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      token_uri: `http://127.0.0.1:${signIn.port}/token`,
    });
  return {
    kind: 'gcs',
    module: gcs,
    port: () => proxy.port,
    keyFile,
    setLifetime: signIn.setLifetime,
    tokens: signIn.count,
    createBucket: () => createBucket(`http://${address}`, proxy.port, keyFile(), signIn.newToken),
    async restart() {
      await server.stop('SIGKILL');
      server = await startIt();
    },
    async close() {
      for (const one of [signIn.server, proxy.server]) {
        one.closeAllConnections();
        await new Promise((resolve) => one.close(resolve));
      }
      await server.stop('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function createBucket(
  endpoint: string,
  port: number,
  keyFile: string,
  newToken: () => string,
): Promise<TestBucket> {
  const name = newBucketName();
  let token: string | undefined;
  const ask = async (path: string, init: RequestInit) => {
    const answer = await fetch(`${endpoint}${path}`, init);
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
  };
  await ask('/storage/v1/b?project=p', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  });
  return {
    name,
    connection: (through = port) => ({
      gcp_service_account: { service_account_key_file_json: keyFile },
      endpoint: `http://127.0.0.1:${through}`,
    }),
    put: (key, bytes) =>
      ask(`/upload/storage/v1/b/${name}/o?uploadType=media&name=${encodeURIComponent(key)}`, {
        method: 'POST',
        body: new Uint8Array(Buffer.from(bytes)),
      }),
    async get(key) {
      // By the way of the source, so that both have the same line.
      token ??= newToken();
      const address = `http://127.0.0.1:${port}/storage/v1/b/${name}/o/${encodeURIComponent(key)}?alt=media`;
      const answer = await fetch(address, { headers: { authorization: `Bearer ${token}` } });
      return Buffer.from(await answer.arrayBuffer());
    },
    remove: (key) => ask(`/storage/v1/b/${name}/o/${encodeURIComponent(key)}`, { method: 'DELETE' }),
  };
}

async function listening(server: HttpServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function startSignIn(publicKey: string) {
  const good = new Map<string, number>();
  let lifetime = 3_600;
  const newToken = () => {
    const token = randomUUID();
    good.set(token, Date.now() + lifetime * 1_000);
    return token;
  };
  const server = createServer(async (asked, answer) => {
    let body = '';
    for await (const piece of asked) body += String(piece);
    const form = new URLSearchParams(body);
    const [header = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.');
    const isSigned = verify(
      'RSA-SHA256',
      Buffer.from(`${header}.${claims}`),
      createPublicKey(publicKey),
      Buffer.from(signature, 'base64url'),
    );
    const { iss, exp, iat, scope } = isSigned ? JSON.parse(Buffer.from(claims, 'base64url').toString()) : {};
    const isRight =
      form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer' &&
      iss === EMAIL &&
      scope === 'https://www.googleapis.com/auth/devstorage.read_only' &&
      exp * 1_000 > Date.now() &&
      iat * 1_000 <= Date.now() &&
      exp - iat <= 3_600;
    answer.setHeader('content-type', 'application/json');
    if (!isRight) {
      answer.statusCode = 400;
      answer.end('{"error":"invalid_grant","error_description":"Invalid JWT Signature."}');
      return;
    }
    answer.end(JSON.stringify({ access_token: newToken(), expires_in: lifetime, token_type: 'Bearer' }));
  });
  return {
    server,
    port: await listening(server),
    newToken,
    isGood: (token: string) => (good.get(token) ?? 0) > Date.now(),
    setLifetime(seconds: number) {
      lifetime = seconds;
    },
    count: () => good.size,
  };
}

const UNAUTHORIZED =
  '{"error":{"code":401,"message":"Invalid Credentials","errors":[{"message":"Invalid Credentials","domain":"global","reason":"authError"}]}}';

async function startProxy(target: () => number, isGood: (token: string) => boolean) {
  const server = createServer((asked, answer) => {
    if (!isGood((asked.headers.authorization ?? '').replace('Bearer ', ''))) {
      answer.writeHead(401, { 'content-type': 'application/json' }).end(UNAUTHORIZED);
      return;
    }
    const to = request(
      { host: '127.0.0.1', port: target(), method: asked.method, path: asked.url, headers: asked.headers },
      (from) => {
        answer.writeHead(from.statusCode ?? 500, from.headers);
        from.pipe(answer);
        from.on('error', () => answer.destroy());
      },
    );
    to.on('error', () => answer.destroy());
    asked.pipe(to);
  });
  return { server, port: await listening(server) };
}
