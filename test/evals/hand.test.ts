import { describe, expect, it } from 'vitest';
import { hold } from '../../evals/hand/hold.ts';
import { tell } from '../../evals/hand/socket.ts';
import { SMALL } from './data.ts';

const GAME = `test-${process.pid}`;
const say = async (...words: string[]) => {
  const { text, isError } = await tell(words, GAME);
  return isError ? `Error: ${text}` : text;
};

async function untilAnswering(): Promise<void> {
  while ((await tell(['ping'], GAME).catch(() => true)) === true)
    await new Promise((resolve) => setTimeout(resolve, 50));
}

describe('a game by hand', () => {
  it('shows what a model would see, notes answers without judging them, and reports at the end', async () => {
    const held = hold(SMALL, { profile: 'explore', tasks: 'airports-south,dollars' }, GAME);
    await Promise.race([untilAnswering(), held]);
    expect(await say('tools')).toMatch(/^Colloquy holds JSON documents.*\{"name":"describe_collection"/s);
    expect(await say('call', 'list_workspaces')).toBe('Error: take a task first: hand task <id>');
    expect(await say('task', 'explore')).toMatch(/^Error: name one task: landlocked/);
    expect(await say('task', 'landlocked')).toBe(
      'Error: landlocked is none of the tasks that are played: airports-south,dollars',
    );
    expect(await say('task', 'airports-south')).toMatch(/^How many airports lie south.*a number\.$/s);
    expect(await say('task', 'dollars')).toMatch(/^Error: airports-south waits for its answer/);
    expect(await say('call', 'run_query', '[]')).toBe('Error: the arguments are an object');
    const query = 'SELECT count(*) AS n FROM world.airports WHERE TRY_CAST(lat AS DOUBLE) < 0';
    expect(await say('call', 'run_query', JSON.stringify({ query }))).toContain('\n1\n(1)');
    expect(await say('answer', 'dollars', '1')).toMatch(/^Error: dollars is not under way/);
    expect(await say('answer', 'airports-south', '{"answer":7,"unsure":true}')).toMatch(
      /^Noted: airports-south, 1 calls/,
    );
    expect(await say('fly')).toMatch(/^Error: there is no command fly/);
    const report = await say('stop');
    expect(report).toMatch(/airports-south +unsure +1 +0 /);
    expect(report).toContain('profile explore, played by hand');
    await held;
    await expect(tell(['ping'], GAME)).rejects.toThrow('hand start');
  });
});
