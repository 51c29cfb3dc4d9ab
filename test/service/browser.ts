import { expect } from 'vitest';

/** Opens an address that pairs a browser, and returns the `Cookie` header with which that browser comes back. */
export async function pairAt(url: string | null | undefined): Promise<string> {
  const answer = await fetch(url ?? '', { redirect: 'manual' });
  expect(answer.status).toBe(303);
  expect(answer.headers.get('location')).toBe('/');
  return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
}
