import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import * as s3 from '../../../src/service/sources/s3.ts';
import { newBucketName, type TestBucket, type TestStore } from './buckets.ts';
import { installedGo } from './go.ts';
import { dataFolder, freePort, type Server, start } from './server.ts';

const KEY = { cloud_access_key_id: 'testkey1', cloud_secret_access_key: 'testsecret' };

/** Its program. */
export const installVersitygw = () => installedGo('versitygw', 'github.com/versity/versitygw/cmd/versitygw', 'v1.8.0');

/** Versity's gateway over a folder. */
export async function startVersitygw(): Promise<TestStore> {
  const program = await installVersitygw();
  return startStore((folder, port) => [
    program,
    [
      '--port',
      `127.0.0.1:${port}`,
      '--access',
      KEY.cloud_access_key_id,
      '--secret',
      KEY.cloud_secret_access_key,
    ].concat([
      '--keep-alive',
      '--region',
      'us-east-1',
      '--iam-dir',
      join(folder, 'iam'),
      '--quiet',
      'posix',
      join(folder, 'root'),
    ]),
    {},
  ]);
}

/** MinIO, the last that Go's proxy serves. */
export async function startMinio(): Promise<TestStore> {
  const version = 'v0.0.0-20260212201848-7aac2a2c5b7c';
  const program = await installedGo('minio', 'github.com/minio/minio', version);
  const console = await freePort();
  return startStore((folder, port) => [
    program,
    ['server', '--address', `127.0.0.1:${port}`, '--console-address', `127.0.0.1:${console}`, join(folder, 'root')],
    {
      MINIO_ROOT_USER: KEY.cloud_access_key_id,
      MINIO_ROOT_PASSWORD: KEY.cloud_secret_access_key,
      MINIO_BROWSER: 'off',
      MINIO_UPDATE: 'off',
    },
  ]);
}

type Command = [file: string, args: readonly string[], env: NodeJS.ProcessEnv];

async function startStore(commandFor: (folder: string, port: number) => Command): Promise<TestStore> {
  const folder = await dataFolder('s3');
  for (const name of ['root', 'iam']) await mkdir(join(folder, name));
  const port = await freePort();
  const [file, args, env] = commandFor(folder, port);
  const startIt = () => start(file, args, { port, folder, env });
  let server: Server = await startIt();
  const client = new S3Client({
    endpoint: `http://127.0.0.1:${port}`,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: KEY.cloud_access_key_id, secretAccessKey: KEY.cloud_secret_access_key },
  });
  return {
    kind: 's3',
    module: s3,
    port: () => port,
    async createBucket(): Promise<TestBucket> {
      const name = newBucketName();
      await client.send(new CreateBucketCommand({ Bucket: name }));
      return {
        name,
        connection: (through = port) => ({ cloud_access_key: KEY, endpoint: `http://127.0.0.1:${through}` }),
        async put(key, bytes) {
          await client.send(new PutObjectCommand({ Bucket: name, Key: key, Body: Buffer.from(bytes) }));
        },
        async get(key) {
          const { Body } = await client.send(new GetObjectCommand({ Bucket: name, Key: key }));
          return Buffer.from((await Body?.transformToByteArray()) ?? []);
        },
        async remove(key) {
          await client.send(new DeleteObjectCommand({ Bucket: name, Key: key }));
        },
      };
    },
    async restart() {
      await server.stop('SIGKILL');
      server = await startIt();
    },
    async close() {
      client.destroy();
      await server.stop('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}
