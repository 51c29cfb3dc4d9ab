import { describe, expect, it } from 'vitest';
import { createApprovals, digest } from '../../../src/mcp/guard/signed-states.ts';

describe('digest()', () => {
  it('is the same whatever the order of keys', () => {
    expect(digest({ a: 1, b: { c: [2n], d: null } })).toBe(digest({ b: { d: null, c: [2n] }, a: 1 }));
  });

  it('tells all values apart', () => {
    const values = [
      { a: 1 },
      [['a', 1]],
      [{ a: 1 }],
      ['a', 1],
      { array: [] },
      [],
      {},
      { object: [] },
      5,
      5n,
      '5',
      '5n',
      { bigint: '5' },
      null,
      'null',
      '',
      undefined,
      true,
      'true',
      { a: null },
      { a: [] },
      { a: {} },
    ];
    expect(new Set(values.map(digest)).size).toBe(values.length);
  });
});

describe('a signed state', () => {
  const binding = { tool: 'delete_collection', args: { collection: 'orders' }, principal: 'p' };
  const approvals = createApprovals();
  const open = () => approvals.open(binding, { target: 'orders', extent: {}, isAgain: false });
  const outcome = (state: string) => approvals.settle(state, binding).outcome;
  const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

  it('is valid as it was made, once', () => {
    const state = open();
    expect(outcome(state)).toBe('valid');
    expect(outcome(state)).toBe('used');
  });

  it.each<[string, (state: string) => string]>([
    ['a suffix after a dot', (state) => `${state}.x`],
    ['a dot at its end', (state) => `${state}.`],
    ['padding', (state) => `${state}=`],
    ['more padding', (state) => `${state}==`],
    ['a character more', (state) => `${state}A`],
    ['a character less', (state) => state.slice(0, -1)],
    ['a line break at its end', (state) => `${state}\n`],
    ['a space before it', (state) => ` ${state}`],
    ['a NUL at its end', (state) => `${state}\0`],
    ['a dot before it', (state) => `.${state}`],
    ['the signature twice', (state) => `${state}.${state.split('.')[1]}`],
    ['a space within the signature', (state) => state.replace('.', '. ')],
    ['padding before the signature', (state) => state.replace('.', '=.')],
    ['no signature', (state) => state.split('.')[0] ?? ''],
    ['an empty signature', (state) => `${state.split('.')[0]}.`],
    ['other letters for the same bytes of the content', (state) => `${state.split('.')[0]}\t.${state.split('.')[1]}`],
    ['full-width letters', (state) => state.replace(/[A-Z](?=[^A-Z]*$)/i, '\uff21')],
  ])('is refused with %s, and stays valid as it was', (_, change) => {
    const state = open();
    expect(outcome(change(state))).toBe('forged');
    expect(outcome(state)).toBe('valid');
  });

  it('is refused with any other letter at the end of its signature, though some mean the same bytes', () => {
    const state = open();
    for (const letter of ALPHABET) {
      if (!state.endsWith(letter)) expect(outcome(state.slice(0, -1) + letter)).toBe('forged');
    }
    // Both letters that base64url spells differently from base64.
    const spelled = state.replace('-', '+').replace('_', '/');
    if (spelled !== state) expect(outcome(spelled)).toBe('forged');
    expect(outcome(state)).toBe('valid');
  });
});
