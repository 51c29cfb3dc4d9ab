import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** Signatures that only this process makes, and knows again as long as it runs. */
export interface Signer {
  /** The signature of what can be JSON. */
  of(about: unknown): string;
  isOf(about: unknown, given: string): boolean;
}

export function createSigner(): Signer {
  const key = randomBytes(32);
  const signatureOf = (about: unknown) => createHmac('sha256', key).update(JSON.stringify(about)).digest('base64url');
  return {
    of: signatureOf,
    isOf(about, given) {
      const [a, b] = [Buffer.from(signatureOf(about)), Buffer.from(given)];
      return a.length === b.length && timingSafeEqual(a, b);
    },
  };
}
