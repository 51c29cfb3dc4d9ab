import { request } from 'node:http';
import { expect } from 'vitest';

/** Opens an address that pairs a browser, and returns the `Cookie` header that this browser sends from then on. */
export async function pairAt(url: string | null | undefined): Promise<string> {
  const answer = await fetch(url ?? '', { redirect: 'manual' });
  expect(answer.status).toBe(303);
  expect(answer.headers.get('location')).toBe('/');
  return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
}

/** An answer as a browser receives it. */
export interface Seen {
  status: number;
  html: string;
  headers: Record<string, unknown>;
}

/** Sends a request to a path of `base` with the headers unchanged, which fetch() does not do. */
export function sendTo(
  base: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  text = '',
): Promise<Seen> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, method, path, headers }, (response) => {
      let html = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        html += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, html, headers: response.headers }));
    });
    sent.on('error', reject).end(text);
  });
}
