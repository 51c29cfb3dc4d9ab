import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { isObject, type JsonObject, type JsonValue } from '../../contract/json/json.ts';
import { SourceError } from './source.ts';

/** A service account of Google Cloud. */
export interface ServiceAccount {
  email: string;
  keyId: string | undefined;
  key: KeyObject;
  tokenUrl: URL;
}

const TOKEN_URL = 'https://oauth2.googleapis.com/token';
const SCOPE = 'https://www.googleapis.com/auth/devstorage.read_only';
const LIFETIME_SECONDS = 3_600;
/** Clocks differ. */
const SLACK_SECONDS = 30;

/** The account of a key file, as text or as the object that it is. Throws a `SourceError`. */
export function readServiceAccount(connection: JsonObject): ServiceAccount {
  const given = connection['gcp_service_account'];
  const file = fileOf(isObject(given) ? given['service_account_key_file_json'] : undefined);
  const { client_email: email, private_key: pem, private_key_id: keyId, token_uri: tokenUri } = file;
  if (typeof email !== 'string' || typeof pem !== 'string') throw refused('has no client_email or no private_key');
  const url = tokenUri ?? TOKEN_URL;
  if (typeof url !== 'string' || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw refused('has a token_uri that is no URL');
  return {
    email,
    keyId: typeof keyId === 'string' ? keyId : undefined,
    key: keyOf(pem),
    tokenUrl: new URL(url),
  };
}

/** Without what it is, which is secret. */
function refused(why: string): SourceError {
  return new SourceError(
    'settings',
    `gcp_service_account.service_account_key_file_json ${why}. It is the text of the JSON file that Google Cloud gives for a key of a service account.`,
  );
}

function fileOf(given: JsonValue | undefined): JsonObject {
  if (isObject(given)) return given;
  try {
    const parsed: unknown = typeof given === 'string' ? JSON.parse(given) : undefined;
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed as JsonObject;
  } catch {
    // The reason would quote it.
  }
  throw refused('is no JSON object');
}

function keyOf(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    // Likewise.
  }
  throw refused('has a private_key that is no RSA key in PEM');
}

/** What an account signs to get a token. */
export function assertionOf({ email, keyId, key, tokenUrl }: ServiceAccount, nowMs: number): string {
  const now = Math.floor(nowMs / 1_000) - SLACK_SECONDS;
  const header = { alg: 'RS256', typ: 'JWT', ...(keyId !== undefined && { kid: keyId }) };
  const claims = { iss: email, scope: SCOPE, aud: tokenUrl.href, iat: now, exp: now + LIFETIME_SECONDS };
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${text}.${sign('RSA-SHA256', Buffer.from(text), key).toString('base64url')}`;
}
