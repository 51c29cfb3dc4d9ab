import * as z from 'zod';
import { createSigner } from '../signatures.ts';
import type { Origin } from './origin.ts';

/**
 * A mount answers a request by calling the API over the local socket, where every caller seems to be on this machine. A
 * pass tells the API where that request came from. Only this process can make one, so nobody else can claim an origin.
 */
export interface OriginPasses {
  passFor(origin: Origin): Record<string, string>;
  /** The origin that the header names; undefined if it contains no pass made by this process. */
  originOf(header: string | string[] | undefined): Origin | undefined;
}

export const PASS_HEADER = 'x-colloquy-origin';

const Passed = z.object({
  isLocal: z.boolean(),
  address: z.array(z.int()).optional(),
  shown: z.string(),
  isForwarded: z.boolean(),
});

export function createOriginPasses(): OriginPasses {
  const signer = createSigner();
  return {
    passFor(origin) {
      const text = Buffer.from(JSON.stringify(origin)).toString('base64url');
      return { [PASS_HEADER]: `${text}.${signer.of(text)}` };
    },
    originOf(header) {
      if (typeof header !== 'string') return undefined;
      const [text = '', mac = ''] = header.split('.');
      if (!signer.isOf(text, mac)) return undefined;
      const origin = Passed.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
      return { ...origin, address: origin.address };
    },
  };
}
