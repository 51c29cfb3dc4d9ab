import type { ListedTool } from '../session.ts';

/** One more thing that is said in a conversation. */
export type Told =
  | { role: 'user'; text: string }
  | { role: 'assistant'; text: string; calls: readonly Wanted[] }
  | { role: 'tool'; id: string; text: string; isError: boolean };

/** A call that a model wants. Arguments that are not JSON are an error that the model is told. */
export interface Wanted {
  id: string;
  tool: string;
  args: Record<string, unknown> | undefined;
}

export interface Turn {
  text: string;
  calls: readonly Wanted[];
  usage: { input: number; output: number };
}

/** What a provider is asked for the next turn. */
export interface Ask {
  system: string;
  tools: readonly ListedTool[];
  told: readonly Told[];
}

export type Model = (ask: Ask) => Promise<Turn>;

const TRIES = 5;
const PAUSE_MS = 2_000;
const ANSWER_MAX_MS = 300_000;

/** Posts JSON; tries again when the provider is busy. Rejects with what it said. */
export async function post(url: string, headers: Record<string, string>, body: unknown): Promise<unknown> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_MAX_MS),
    });
    const text = await response.text();
    if (response.ok) return JSON.parse(text);
    const isBusy = response.status === 429 || response.status >= 500;
    if (!isBusy || attempt === TRIES) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 500)}`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * attempt ** 2));
  }
}
