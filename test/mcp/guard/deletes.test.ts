import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { APPROVAL_TTL_MS } from '../../../src/contract/approvals.ts';
import { allRows } from '../../../src/contract/contract.ts';
import type { Row } from '../../../src/contract/row.ts';
import { type Client, createClient } from '../../../src/http/client.ts';
import type { Assistant } from '../../../src/mcp/assistant.ts';
import { createApprovals } from '../../../src/mcp/guard/signed-states.ts';
import { tools } from '../../../src/mcp/tools/tools.ts';
import { startTestService, type TestService } from '../../service/harness.ts';
import { pairAt } from '../../service/pages/browser.ts';
import { agree, type FormParams, type HumanAnswer, PEERS, type Peer, type RawResult } from '../peers.ts';
import { DELETE_TARGETS, makeDeleteWorkspace } from './delete-targets.ts';

let service: TestService;
let client: Client;
/** The cookie of the human's browser. */
let cookie: string;
beforeAll(async () => {
  service = await startTestService();
  client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
  await makeDeleteWorkspace(client);
  cookie = await pairAt((await client.pairBrowser({})).url);
});
afterAll(async () => {
  await client.close();
  await service.remove();
});

const deleting = [...tools().values()].filter(({ effect }) => effect === 'delete').map(({ listing }) => listing.name);
/** The targets that exist now, by tool and number. */
const there = new Map<string, Record<string, unknown>>();

async function target(tool: string, n = 1): Promise<Record<string, unknown>> {
  const key = `${tool} ${n}`;
  const args = there.get(key) ?? (await DELETE_TARGETS[tool]?.make(client, n));
  if (args === undefined) throw new Error(`there is nothing to delete for ${tool}`);
  there.set(key, args);
  return args;
}

/** One test's server, which records its writing calls of the service. */
function scene(era: string, tool: string, options: { ttlMs?: number } = {}) {
  const clock = { now: Date.now() };
  const approvals = createApprovals({ now: () => clock.now, ...options });
  const writes: string[] = [];
  const recorded = Object.entries(client).map(([name, own]: [string, (...args: never[]) => unknown]) => {
    const row = (allRows as Record<string, Row>)[name];
    if (row === undefined || row.effect === 'read' || name === 'requestApproval') return [name, own];
    const recording = (...args: never[]) => {
      writes.push(name);
      return own(...args);
    };
    return [name, recording];
  });
  const recording: Client = Object.fromEntries(recorded);
  const log = {
    info: () => {},
    warn: () => {},
    error: (details: object) => expect.unreachable(JSON.stringify(details)),
  };
  const assistant: Assistant = {
    connect: async () => recording,
    version: '1',
    log,
    principal: 'me',
    tools: tools(),
    approvals,
    guard: 'ask',
    command: 'colloquy',
    means: {},
  };
  const open = PEERS[era];
  if (open === undefined) throw new Error(era);
  const peers: Peer[] = [];
  const peer = async (human?: (params: FormParams) => HumanAnswer | Promise<HumanAnswer>, part: object = {}) => {
    const opened = await open({ ...assistant, ...part }, { ...(human && { human }), capable: true });
    peers.push(opened);
    return opened;
  };
  return {
    assistant,
    clock,
    writes,
    peer,
    /** Calls the tool, with a human who gives this answer. */
    ask: async (human: (params: FormParams) => HumanAnswer | Promise<HumanAnswer>) =>
      (await peer(human)).call({ name: tool, arguments: await target(tool) }),
    /** A client that does not say that it can ask a human. */
    mute: () => open(assistant, { capable: false }),
    end: () => Promise.all(peers.map((one) => one.close())),
  };
}
type Scene = ReturnType<typeof scene>;

function expectRefused(result: RawResult, code: string) {
  expect(result).toMatchObject({ isError: true, structuredContent: { error: { code } } });
  const error = result.structuredContent?.['error'] as { message: string } | undefined;
  expect(error?.message).toMatch(/^Nothing was changed/);
}

/** Answers on the page, as a browser would. */
async function answerOnPage(result: RawResult, decision: 'approve' | 'decline') {
  const approval = result.structuredContent?.['approval'] as { url: string } | undefined;
  const url = approval?.url ?? '';
  const html = await (await fetch(url, { headers: { cookie } })).text();
  const token = /name="token" value="([^"]+)"/.exec(html)?.[1] ?? '';
  const name = /To approve, type <code>(.*)<\/code>/.exec(html)?.[1] ?? '';
  const body = new URLSearchParams({ token, decision, name });
  const answered = await fetch(url, { method: 'POST', body, headers: { cookie, origin: new URL(url).origin } });
  expect(answered.status).toBe(200);
}

const decline = (): HumanAnswer => ({ action: 'decline' });

/** Cases in which nothing is written, the same for both eras, by what the human does. */
const refusals: Record<string, (at: Scene, tool: string) => Promise<unknown>> = {
  decline: async ({ ask }) => expectRefused(await ask(decline), 'declined'),
  cancel: async ({ ask }) => expectRefused(await ask(() => ({ action: 'cancel' })), 'cancelled'),
  expired: async ({ ask, clock }) => {
    const late = (params: FormParams) => {
      clock.now += APPROVAL_TTL_MS + 1;
      return agree(params);
    };
    expectRefused(await ask(late), 'expired');
  },
  'target re-created': async ({ ask }, tool) => {
    const args = await target(tool);
    const replacing = async (params: FormParams) => {
      await DELETE_TARGETS[tool]?.replace(client, 1, args);
      return agree(params);
    };
    expectRefused(await ask(replacing), 'replaced');
  },
  'cancel by disconnect': async ({ peer, mute }, tool) => {
    let asked: () => void = () => undefined;
    const question = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const leaving = await peer(() => {
      asked();
      return new Promise<never>(() => undefined);
    });
    // A closed client may never settle its own calls.
    leaving.call({ name: tool, arguments: await target(tool) }).catch(() => undefined);
    await question;
    await leaving.close();
    // Whatever the server still had to do, it had the time of a whole other call for it.
    const next = await mute();
    await next.call({ name: 'list_workspaces', arguments: {} });
    await next.close();
    await turn();
    expect(await client.listApprovals({})).toEqual([]);
  },
  'no capability': async ({ mute }, tool) => {
    const peer = await mute();
    const result = await peer.call({ name: tool, arguments: await target(tool) });
    expectRefused(result, 'pending');
    expectRefused(await peer.call({ name: tool, arguments: await target(tool) }), 'pending');
    await answerOnPage(result, 'decline');
    expectRefused(await peer.call({ name: tool, arguments: await target(tool) }), 'declined');
    await peer.close();
  },
};

describe('every tool that deletes', () => {
  it('is in this table', () => {
    // Removing from the trash has no tool.
    const effects = Object.values(allRows as Record<string, Row>).filter(
      ({ effect, localOnly }) => localOnly !== true && effect === 'delete',
    );
    expect(deleting).toHaveLength(effects.length);
    expect(Object.keys(DELETE_TARGETS).sort()).toEqual([...deleting].sort());
  });
});

describe.each(Object.keys(PEERS))('in era %s', (era) => {
  describe.each(deleting)('%s', (tool) => {
    const operation = DELETE_TARGETS[tool]?.operation ?? '';

    it.each(Object.keys(refusals))('writes nothing: %s', async (name) => {
      const at = scene(era, tool);
      await refusals[name]?.(at, tool);
      expect(at.writes).toEqual([]);
      await at.end();
    });

    it('writes once: accept', async () => {
      const at = scene(era, tool);
      const result = await at.ask(agree);
      there.delete(`${tool} 1`);
      expect(result.isError).toBeUndefined();
      expect(result.structuredContent?.['done']).toContain('. Confirmed by a human in the chat. ');
      expect(at.writes).toEqual([operation]);
      await at.end();
    });

    it('writes once: approved on the page', async () => {
      const at = scene(era, tool);
      const peer = await at.mute();
      const call = { name: tool, arguments: await target(tool) };
      await answerOnPage(await peer.call(call), 'approve');
      expect(at.writes).toEqual([]);
      const result = await peer.call(call);
      there.delete(`${tool} 1`);
      expect(result.isError).toBeUndefined();
      expect(result.structuredContent?.['done']).toContain(". Confirmed by a human on the service's page. ");
      // The approval is used up, even for a later target of the same name.
      const again = await peer.call({ ...call, arguments: await target(tool) });
      expectRefused(again, 'pending');
      await answerOnPage(again, 'decline');
      expectRefused(await peer.call(call), 'declined');
      expect(at.writes).toEqual([operation]);
      await peer.close();
    });

    it('writes nothing: approved on the page, then re-created', async () => {
      const at = scene(era, tool);
      const peer = await at.mute();
      const call = { name: tool, arguments: await target(tool) };
      await answerOnPage(await peer.call(call), 'approve');
      await DELETE_TARGETS[tool]?.replace(client, 1, call.arguments);
      const again = await peer.call(call);
      expectRefused(again, 'pending');
      await answerOnPage(again, 'decline');
      expectRefused(await peer.call(call), 'declined');
      expect(at.writes).toEqual([]);
      await peer.close();
    });
  });
});

/** A yes that comes with a wrong state, by what is wrong with the state. */
const states: Record<string, { code: string; state: (at: Scene, tool: string) => Promise<unknown> }> = {
  forged: { code: 'forged', state: async () => 'e30.AAAA' },
  replayed: {
    code: 'used',
    state: async (at, tool) => {
      const args = await target(tool);
      const state = await stateFor(at, tool, args);
      const peer = await PEERS['2026-07-28']?.(at.assistant, { capable: true });
      const answer = { approval: { action: 'decline' } };
      expectRefused((await peer?.call(withState(tool, args, state, answer))) ?? {}, 'declined');
      await peer?.close();
      return state;
    },
  },
  'for other arguments': { code: 'changed', state: async (at, tool) => stateFor(at, tool, await target(tool, 2)) },
  'for another principal': {
    code: 'changed',
    state: async (at, tool) => stateFor(at, tool, await target(tool), { principal: 'you' }),
  },
};

/** The state of a question that was asked but not answered. */
async function stateFor(at: Scene, tool: string, args: Record<string, unknown>, part: object = {}): Promise<unknown> {
  const peer = await PEERS['2026-07-28']?.({ ...at.assistant, ...part }, { capable: true });
  const asked = await peer?.call({ name: tool, arguments: args });
  await peer?.close();
  expect(asked?.requestState).toEqual(expect.any(String));
  return asked?.requestState;
}

function withState(tool: string, args: Record<string, unknown>, state: unknown, inputResponses: object) {
  return { name: tool, arguments: args, requestState: state, inputResponses };
}

/** A yes, whatever the form asks for. */
const yes = (args: Record<string, unknown>) => {
  const name = Object.values(args).findLast((value) => typeof value === 'string');
  return { approval: { action: 'accept', content: { yes: true, name } } };
};

describe.each(deleting)('%s with a yes and a state that is', (tool) => {
  it.each(Object.keys(states))('%s, writes nothing in era 2026-07-28', async (name) => {
    const at = scene('2026-07-28', tool);
    const args = await target(tool);
    const state = await states[name]?.state(at, tool);
    const result = await (await at.peer()).call(withState(tool, args, state, yes(args)));
    expectRefused(result, states[name]?.code ?? '');
    expect(at.writes).toEqual([]);
    await at.end();
  });

  it.each(Object.keys(states))('%s, is ignored in era 2025-11-25, where the human is asked', async (name) => {
    const at = scene('2025-11-25', tool);
    const args = await target(tool);
    const state = await states[name]?.state(at, tool);
    const result = await (await at.peer(decline)).call(withState(tool, args, state, yes(args)));
    expectRefused(result, 'declined');
    expect(at.writes).toEqual([]);
    await at.end();
  });
});

describe.each(deleting)('%s from a client that says it can ask and does not answer', (tool) => {
  it('writes nothing in era 2026-07-28: a second round without an answer', async () => {
    const at = scene('2026-07-28', tool);
    const args = await target(tool);
    const peer = await at.peer();
    const { requestState } = await peer.call({ name: tool, arguments: args });
    expectRefused(await peer.call({ name: tool, arguments: args, requestState }), 'unanswered');
    expect(at.writes).toEqual([]);
    await at.end();
  });

  it.each([
    ['time runs out', { ttlMs: 20 }, () => new Promise<never>(() => undefined)],
    ['the client fails', {}, () => Promise.reject(new Error('no window'))],
  ])('writes nothing in era 2025-11-25 when %s, and leaves another way', async (_, options, human) => {
    const at = scene('2025-11-25', tool, options);
    const result = await at.ask(human);
    expectRefused(result, 'pending');
    expect(at.writes).toEqual([]);
    await answerOnPage(result, 'decline');
    expectRefused(await (await at.mute()).call({ name: tool, arguments: await target(tool) }), 'declined');
    await at.end();
  });
});
