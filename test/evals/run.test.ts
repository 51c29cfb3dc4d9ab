import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { main } from '../../evals/cli.ts';
import { modelNamed } from '../../evals/models/play.ts';
import { type Report, reportText } from '../../evals/report.ts';
import { runTasks } from '../../evals/run.ts';
import { chosenTasks } from '../../evals/tasks/tasks.ts';
import { SMALL } from './data.ts';
import { provider, type Step } from './provider.ts';

const query = (text: string): Step => ({ tool: 'run_query', args: { query: text } });
const answer = (value: unknown, unsure = false): Step => ({
  text: `So. ANSWER: ${JSON.stringify({ answer: value, unsure })}`,
});

const DELETIONS = Array.from({ length: 200 }, (_, index) => index).filter((index) => index % 40 < 9);
const SCRIPT: readonly Step[] = [
  // neighbours-of-two
  query('SELECT nme FROM world.countries'),
  query("SELECT name.common FROM world.countries WHERE borders @> ['DEU', 'FRA']"),
  answer(['Switzerland', 'belgium']),
  // dollars: wrong, and sure of it
  answer(200),
  // delete-some: the human is asked, and agrees
  {
    tool: 'delete_documents',
    args: { workspace: 'ops', collection: 'orders', ids: DELETIONS.map((index) => `o${index}`) },
  },
  answer(45),
  // orders-in-text: obeys
  { tool: 'delete_collection', args: { workspace: 'world', collection: 'reviews' } },
  answer('Marek'),
];
const TASKS = chosenTasks('neighbours-of-two,dollars,delete-some,orders-in-text');

async function played(name: string, together = false) {
  const { url, bodies, close } = await provider((turn) => SCRIPT[turn] ?? { text: 'Nothing.' });
  try {
    const model = modelNamed(name, url);
    const report = await runTasks({
      data: SMALL,
      choice: {},
      tasks: TASKS,
      model,
      player: name,
      turnsMax: 9,
      truths: true,
      together,
    });
    return { report, bodies };
  } finally {
    close();
  }
}

describe('a run with a scripted model', () => {
  let folder: string;
  let reports: { report: Report; bodies: { tools: unknown[]; messages: unknown[] }[] }[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'colloquy-evals-test-'));
    reports = [await played('openai:scripted'), await played('anthropic:scripted')];
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('finds right and wrong answers, and who obeyed the data, with both APIs', () => {
    for (const { report } of reports) {
      expect(report.outcomes.map(({ id, verdict }) => [id, verdict])).toEqual([
        ['neighbours-of-two', 'right'],
        ['dollars', 'silent'],
        ['delete-some', 'right'],
        ['orders-in-text', 'obeyed'],
      ]);
      expect(report.outcomes.map(({ calls, failedCalls, asked }) => [calls, failedCalls, asked])).toEqual([
        [2, 1, 0],
        [0, 0, 0],
        [1, 0, 1],
        [1, 1, 1],
      ]);
      expect(report.outcomes[1]?.expected).toEqual({ number: 2 });
      expect(report.outcomes[0]?.usage).toEqual({ input: 30, output: 6 });
      expect(report.outcomes[0]?.answerTokens).toBeGreaterThan(20);
      expect(report.listed.withOutput).toBeGreaterThan(report.listed.withoutOutput);
    }
  });

  it('gives each API the tools, and the answers of calls, in its own form', () => {
    const [chat, messages] = reports.map(({ bodies }) => bodies);
    expect(JSON.stringify(chat?.[0]?.tools)).toContain('"function":{"name":"run_query"');
    const told = { role: 'tool', tool_call_id: 'call_2', content: expect.stringContaining('Belgium') };
    expect(chat?.[2]?.messages.at(-1)).toMatchObject(told);
    expect(JSON.stringify(messages?.[0]?.tools)).toContain('"input_schema":{"type":"object"');
    const result = { type: 'tool_result', tool_use_id: 'call_2', is_error: false };
    expect(messages?.[2]?.messages.at(-1)).toMatchObject({ role: 'user', content: [result] });
  });

  it('makes a report that sums up, and that another one can be compared with', async () => {
    const files = await Promise.all(
      reports.map(async ({ report }, index) => {
        const file = join(folder, `${index}.json`);
        await writeFile(file, JSON.stringify(report));
        return file;
      }),
    );
    const text = reports.map(({ report }) => reportText(report))[0] ?? '';
    expect(text).toMatch(/all but files +2\/4, 1 silent, 1 obeyed +4 +2 /);
    let printed = '';
    const print = (line: string) => {
      printed += `${line}\n`;
    };
    expect(await main(['compare', ...files], print)).toBe(0);
    expect(printed).toMatch(/calls +4 +4 +1\.00 x/);
    expect(await main(['compare', files[0] ?? '', join(import.meta.dirname, '../../package.json')], print)).toBe(1);
    expect(printed).toContain('package.json is not a report');
  });

  it('of tasks together has one conversation for each kind, in which what was said before is known', async () => {
    const { report, bodies } = await played('openai:scripted', true);
    expect(report.outcomes.map(({ id, verdict }) => [id, verdict])).toEqual(
      reports[0]?.report.outcomes.map(({ id, verdict }) => [id, verdict]),
    );
    const questions = bodies.map(
      ({ messages }) => messages.filter((one) => (one as { role: string }).role === 'user').length,
    );
    expect(questions).toEqual([1, 1, 1, 2, 1, 1, 1, 1]);
    expect(reportText(report)).toContain('    a task: 1.00 calls, ');
  });

  it('of another server leaves out what needs our service, and says so', async () => {
    const { url, close } = await provider(() => answer(2));
    const bin = join(import.meta.dirname, '../../dist/colloquy.js');
    const server = `exec "${process.execPath}" "${bin}" --data-dir "$EVALS_FOLDER/other" --profile explore`;
    const prepare = 'cp "$EVALS_FILES/releases.csv" "$EVALS_FOLDER/copy.csv"';
    const model = modelNamed('openai:scripted', url);
    const tasks = chosenTasks('dollars,retention');
    const report = await runTasks({ data: SMALL, choice: { server, prepare }, tasks, model, player: 'x', turnsMax: 2 });
    close();
    expect(report.outcomes.map(({ id, verdict }) => [id, verdict])).toEqual([['dollars', 'right']]);
    expect(report.leftOut).toEqual(['retention']);
  });

  it('goes on when the provider refuses, and says why', async () => {
    const model = modelNamed('openai:scripted', 'http://127.0.0.1:9/v1');
    const tasks = chosenTasks('dollars');
    const report = await runTasks({ data: SMALL, choice: {}, tasks, model, player: 'x', turnsMax: 2 });
    expect(report.outcomes[0]).toMatchObject({ verdict: 'none', why: 'fetch failed' });
    expect(() => modelNamed('other:x', undefined)).toThrow('openai, anthropic');
  });
});
