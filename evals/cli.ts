import { readFile, writeFile } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { startHolding, tell } from './hand/socket.ts';
import { comparisonText, readReport, reportText } from './report.ts';

// What plays is loaded when it is needed: the small commands of a game by hand should not wait for it.

const USAGE = `Usage: npm run evals -- --model <provider:model> [options]
       npm run evals -- hand start|tools|tasks|task <id>|call <tool> '<json>'|answer <id> '<json>'|stop
                                 (- as the json: from standard input)
       npm run evals -- compare <first.json> <second.json>

  --model <provider:model>  openai:… (chat completions, of anybody) or anthropic:… (messages)
  --base-url <url>          where it is, up to and with /v1; keys: OPENAI_API_KEY, ANTHROPIC_API_KEY
  --tasks <names>           files, explore, author, admin, injections, or ids; separated by commas; the data of others
                            are not there
  --profile <name>          what our server offers: explore, author, admin
  --server <command>        another MCP server, over stdio
  --prepare <command>       gets the files in the folder EVALS_FILES into it, before it starts
  --together                all tasks of a kind in one conversation, as in a chat
  --turns <number>          most turns for a task (default: 30)
  --json <file>             write the report there, too
  --truths                  with what would have been right
  --name <name>             with hand: one of several games at once
`;

const OPTIONS = {
  model: { type: 'string' },
  'base-url': { type: 'string' },
  tasks: { type: 'string' },
  profile: { type: 'string' },
  server: { type: 'string' },
  prepare: { type: 'string' },
  turns: { type: 'string', default: '30' },
  json: { type: 'string' },
  together: { type: 'boolean', default: false },
  truths: { type: 'boolean', default: false },
  name: { type: 'string', default: 'hand' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

type Values = ReturnType<typeof read>['values'];
type Print = (text: string) => void;

const read = (argv: readonly string[]) => parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true });

/** Runs a command; resolves with the exit code. */
export async function main(argv: readonly string[], print: Print): Promise<number> {
  try {
    const { values, positionals } = read(argv);
    const [command, ...words] = positionals;
    if (values.help || (command === undefined && values.model === undefined)) {
      print(USAGE);
      return values.help ? 0 : 2;
    }
    if (command === 'compare') return await compare(words, print);
    if (command === 'hand') return await byHand(words, values, print);
    if (command !== undefined) throw new Error(`there is no command ${command}\n\n${USAGE}`);
    return await byModel(values, print);
  } catch (error) {
    print((error as Error).message);
    return 1;
  }
}

async function fetched() {
  const { dataOf } = await import('./data/files.ts');
  const { cacheFolder, fetchRaw } = await import('./data/packages.ts');
  return dataOf(await fetchRaw(cacheFolder()));
}

async function byModel(values: Values, print: Print): Promise<number> {
  const { model: player = '', profile, server, prepare, together, truths } = values;
  const turnsMax = Number(values.turns);
  if (!Number.isInteger(turnsMax) || turnsMax < 1) throw new Error(`--turns ${values.turns}: expected a whole number`);
  const { modelNamed } = await import('./models/play.ts');
  const { chosenTasks } = await import('./tasks/tasks.ts');
  const { runTasks } = await import('./run.ts');
  const [model, tasks] = [modelNamed(player, values['base-url']), chosenTasks(values.tasks)];
  const report = await runTasks({
    data: await fetched(),
    choice: { profile, server, prepare },
    tasks,
    model,
    player,
    turnsMax,
    together,
    truths,
    onOutcome: ({ id, verdict, calls, why = '' }) => print(`${id}: ${verdict}, ${calls} calls ${why}`),
  });
  print(`\n${reportText(report)}`);
  if (values.json !== undefined) await writeFile(values.json, JSON.stringify(report, null, 2));
  return 0;
}

async function byHand(words: readonly string[], values: Values, print: Print): Promise<number> {
  const { name, tasks, profile, server, prepare, truths, json } = values;
  const [command] = words;
  if (command === 'tasks') {
    const { chosenTasks } = await import('./tasks/tasks.ts');
    print(
      chosenTasks(tasks)
        .map(({ id, kind }) => `${kind.padEnd(12)}${id}`)
        .join('\n'),
    );
    return 0;
  }
  if (command === 'start') {
    const given = Object.entries({ name, tasks, profile, server, prepare }).flatMap(([flag, value]) =>
      value === undefined ? [] : [`--${flag}`, value],
    );
    await fetched();
    await startHolding([...given, ...(truths ? ['--truths'] : [])], name);
    print('Started. Next: hand tools, hand tasks, hand task <id>.');
    return 0;
  }
  if (command === 'hold') {
    const { hold } = await import('./hand/hold.ts');
    await hold(await fetched(), { tasks, profile, server, prepare, truths }, name);
    return 0;
  }
  if (command === 'stop' && json !== undefined) {
    const { text } = await tell(['stop', 'json'], name);
    await writeFile(json, text);
    print(reportText(readReport(text, json)));
    return 0;
  }
  const given = await Promise.all(words.map((word) => (word === '-' ? textOf(process.stdin) : word)));
  const { text, isError } = await tell(given, name);
  print(text);
  return isError ? 1 : 0;
}

async function compare(files: readonly string[], print: Print): Promise<number> {
  const reports = await Promise.all(files.map(async (file) => readReport(await readFile(file, 'utf8'), file)));
  const [first, second] = reports;
  if (first === undefined || second === undefined) throw new Error(`compare needs two reports\n\n${USAGE}`);
  print(comparisonText(first, second));
  return 0;
}
