import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Parameter } from '../../src/engine/engine.ts';

/** A statement to try. */
export interface Statement {
  sql: string;
  parameters?: Parameter[];
}

/** Resident memory of the child, in MiB: the most during a statement, and after it. */
export interface Memory {
  peakMib: number;
  leftMib: number;
}

/** What the child tells. */
export type Answer =
  | { kind: 'ready' }
  | { kind: 'answered'; memory: Memory; rows: number }
  | { kind: 'failed'; memory: Memory; code: string; message: string }
  | { kind: 'gave up'; message: string };

export const FINDINGS = ['crash', 'does not stop', 'memory', 'internal error'] as const;

/**
 * What became of a statement. `refused` is an answer of the gate or the engine with a code of the API, `flawed` one
 * of the engine about itself, `stopped` one about the time limit or the memory limit. The others are findings.
 */
export type Verdict = 'ok' | 'refused' | 'flawed' | 'stopped' | (typeof FINDINGS)[number];

export interface Outcome {
  verdict: Verdict;
  message: string;
  ms: number;
}

export interface RunOptions {
  /** The built `child.ts`. */
  child: string;
  memoryMib: number;
  /** When a statement is told to stop. */
  timeoutMs: number;
  /** How much longer it may take then. */
  graceMs: number;
}

/** Resident memory beyond the engine's limit that is a finding: about where the watchdog would end the process. */
const MEMORY_MARGIN_MIB = 3_072;
/** With more than this left by a statement, the next one gets a new child, so that it is not blamed. */
const LEFT_MAX_MIB = 1_024;

const VERDICTS: Record<string, Verdict> = {
  query_error: 'refused',
  invalid_input: 'refused',
  query_timeout: 'stopped',
  resource_exceeded: 'stopped',
};

export interface Runner {
  run(statement: Statement): Promise<Outcome>;
  close(): void;
}

/** Runs statements one after another; a child that a statement has ended or made useless is replaced. */
export function createRunner({ child: file, memoryMib, timeoutMs, graceMs }: RunOptions): Runner {
  let child: ChildProcess | undefined;

  const start = async (): Promise<ChildProcess> => {
    const started = fork(file, [String(memoryMib), String(timeoutMs)], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const [first] = (await Promise.race([once(started, 'message'), once(started, 'exit')])) as [unknown];
    if (typeof first !== 'object' || first === null)
      throw new Error(`The child ended with ${first} before it was ready.`);
    return started;
  };

  const drop = () => {
    child?.kill('SIGKILL');
    child = undefined;
  };

  /** The answer, how the child ended, or undefined if there was neither in time. */
  const ask = async (
    to: ChildProcess,
    statement: Statement,
  ): Promise<Answer | { kind: 'ended'; by: string } | undefined> => {
    const waiting = new AbortController();
    const { signal } = waiting;
    const timer = setTimeout(() => waiting.abort(), timeoutMs + graceMs);
    try {
      const ended = once(to, 'exit', { signal }).then(([code, by]) => ({
        kind: 'ended' as const,
        by: `${by ?? code}`,
      }));
      const answered = once(to, 'message', { signal }).then(([answer]) => answer as Answer);
      ended.catch(() => undefined);
      answered.catch(() => undefined);
      to.send(statement);
      return await Promise.race([answered, ended]);
    } catch (error) {
      if (!signal.aborted) throw error;
      return undefined;
    } finally {
      clearTimeout(timer);
      waiting.abort();
    }
  };

  const outcomeOf = (answer: Awaited<ReturnType<typeof ask>>): Omit<Outcome, 'ms'> => {
    if (answer === undefined) return { verdict: 'does not stop', message: `not within ${timeoutMs + graceMs} ms` };
    if (answer.kind === 'ended') return { verdict: 'crash', message: answer.by };
    if (answer.kind === 'gave up') return { verdict: 'memory', message: answer.message };
    if (answer.kind === 'ready') throw new Error('The child is ready twice.');
    const { peakMib, leftMib } = answer.memory;
    if (leftMib > LEFT_MAX_MIB) drop();
    if (peakMib > memoryMib + MEMORY_MARGIN_MIB) return { verdict: 'memory', message: `${peakMib} MiB` };
    if (answer.kind === 'answered') return { verdict: 'ok', message: `${answer.rows} rows` };
    if (answer.message.includes('flaw of its own')) return { verdict: 'flawed', message: answer.message };
    const verdict = VERDICTS[answer.code] ?? 'internal error';
    return { verdict, message: `${answer.code}: ${answer.message}` };
  };

  return {
    async run(statement) {
      child ??= await start();
      const startedAt = performance.now();
      const outcome = outcomeOf(await ask(child, statement));
      if ((FINDINGS as readonly Verdict[]).includes(outcome.verdict)) drop();
      return { ...outcome, ms: performance.now() - startedAt };
    },
    close: drop,
  };
}
