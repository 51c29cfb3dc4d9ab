import { readFile } from 'node:fs/promises';
import { ApiError } from '../../contract/errors.ts';
import type { LakeOptions, ObjectStore } from '../../engine/duckdb/open-lake.ts';
import type { Config } from '../../settings.ts';

type LakeConfig = Pick<
  Config,
  'lake' | 'lakePassword' | 'lakePasswordFile' | 'lakeData' | 'lakeEndpoint' | 'lakeRegion' | 'extensionDir'
>;

/** The lake in the settings; undefined without one. Throws `invalid_input`, naming the setting. */
export async function lakeOf(config: LakeConfig): Promise<LakeOptions | undefined> {
  const { lake, lakeData, lakePassword, lakePasswordFile, extensionDir } = config;
  if (lake === undefined || lakeData === undefined) return undefined;
  const password = lakePasswordFile === undefined ? lakePassword : await passwordIn(lakePasswordFile);
  return {
    catalog: withPassword(lake, password),
    data: lakeData,
    extensionFolder: extensionDir,
    objectStore: () => objectStoreOf(config),
  };
}

function withPassword(lake: string, password: string | undefined): string {
  if (password === undefined || !URL.canParse(lake)) return lake;
  const url = new URL(lake);
  url.password = encodeURIComponent(password);
  return url.href;
}

async function passwordIn(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw refused(file, `it cannot be read (${error.code ?? 'unknown error'})`);
  });
  const password = text.replace(/\r?\n$/, '');
  if (password === '') throw refused(file, 'it is empty');
  return password;
}

function refused(file: string, why: string): ApiError {
  return new ApiError('invalid_input', `Cannot use --lake-password-file "${file}": ${why}.`);
}

/** How the store is reached now: credentials of a role end, and others follow. */
async function objectStoreOf({ lakeEndpoint, lakeRegion }: LakeConfig): Promise<ObjectStore> {
  const { machineCredentials } = await import('../../service/sources/aws-sign-in.ts');
  const { accessKeyId, secretAccessKey, sessionToken, expiration } = await machineCredentials().catch(
    (error: unknown) => {
      throw new ApiError(
        'invalid_input',
        'Cannot sign in to the store of --lake-data: no credentials were found. Give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a profile with AWS_PROFILE, or run on a machine with a role; for a store of Google, give an HMAC key as the first two.',
        { cause: error },
      );
    },
  );
  return {
    keyId: accessKeyId,
    secret: secretAccessKey,
    sessionToken,
    expiresMs: expiration?.getTime(),
    region: lakeRegion,
    endpoint: lakeEndpoint,
  };
}
