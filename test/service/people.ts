import { request } from 'undici';
import { parseJson } from '../../src/contract/json/json.ts';
import type { Role } from '../../src/contract/row.ts';
import type { Answer, TestService } from './harness.ts';

export const USERS = '/v1/orgs/self/users';
export const MY_KEYS = `${USERS}/self/apikeys`;

/** Creates a user with one key, and returns the key. */
export async function addUser(service: TestService, email: string, ...roles: Role[]): Promise<string> {
  const created = await service.call('POST', USERS, { email, roles });
  if (created.status !== 200) throw new Error(created.text);
  return addKey(service, email, 'first');
}

/** Creates a key of a user, and returns it. */
export async function addKey(service: TestService, email: string, name: string): Promise<string> {
  const made = await service.call('POST', `${USERS}/${encodeURIComponent(email)}/apikeys`, { name });
  if (made.status !== 200) throw new Error(made.text);
  return made.body.data.key;
}

/** A call over TCP, as if forwarded by a proxy. */
export async function callFrom(
  service: TestService,
  forwardedFor: string | null,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const url = service.service.addresses.find((address) => address.startsWith('http'));
  if (url === undefined) throw new Error('the service does not listen on TCP');
  const answer = await request(`${url}${path}`, {
    method: method as 'GET',
    headers: {
      authorization: `ApiKey ${service.key}`,
      'content-type': 'application/json',
      ...(forwardedFor === null ? {} : { 'x-forwarded-for': forwardedFor }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await answer.body.text();
  return { status: answer.statusCode, headers: answer.headers, text, body: text === '' ? undefined : parseJson(text) };
}
