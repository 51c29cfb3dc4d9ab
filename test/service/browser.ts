import { expect } from 'vitest';

/** Opens an address that pairs a browser, and returns the `Cookie` header with which that browser comes back. */
export async function pairAt(url: string | null | undefined): Promise<string> {
  const answer = await fetch(url ?? '');
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain('is paired with Colloquy');
  return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
}
