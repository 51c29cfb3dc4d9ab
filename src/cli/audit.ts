import type { InvocationOf } from '../commands.ts';
import { ApiError } from '../contract/errors.ts';
import { stringifyJson } from '../contract/json/json.ts';
import { nearest } from '../contract/nearest.ts';
import { findRecords } from '../local/audit-log.ts';
import { wantedRecords } from '../mcp/audit.ts';
import { toolCards } from '../mcp/tools/tool-cards.ts';
import { plainText } from './log.ts';
import { forPerson } from './person.ts';

type Entry = Readonly<Record<string, unknown>>;

const ARGUMENTS_CHARS = 120;

/** Prints the audit log of the data folder, newest call last. */
export function audit({ config, filter }: InvocationOf<'audit'>): Promise<number> {
  return forPerson(async () => {
    const { tool } = filter;
    const wanted = wantedRecords({ ...filter, outcome: filter.failed ? 'failed' : undefined });
    const names = new Set<unknown>(toolCards().keys());
    let unreadable = 0;
    const found = await findRecords(
      config.dataDir,
      (record) => {
        names.add(record['tool']);
        return wanted(record);
      },
      filter.lines || Number.POSITIVE_INFINITY,
      () => unreadable++,
    );
    // Where less is found than is wanted, all records were seen, which may have unknown tools.
    if (tool !== undefined && !names.has(tool)) throw unknownTool(tool, names);
    const chosen = found.reverse();
    if (config.url !== undefined) {
      const whose = `calls from this machine, on record in "${config.dataDir}"; ${config.url} has a record of its own of those over /mcp`;
      process.stderr.write(`colloquy: These are ${plainText(whose)}.\n`);
    }
    const lines = unreadable === 1 ? 'line' : 'lines';
    if (unreadable > 0) process.stderr.write(`colloquy: ${unreadable} ${lines} of the audit log cannot be read.\n`);
    if (chosen.length === 0 && !filter.json) process.stderr.write(`No calls on record in "${config.dataDir}".\n`);
    process.stdout.write(chosen.map((entry) => `${filter.json ? stringifyJson(entry) : lineOf(entry)}\n`).join(''));
    return 0;
  });
}

function unknownTool(tool: string, names: ReadonlySet<unknown>): ApiError {
  const [meant] = nearest(tool, [...names].map(String), 1);
  const hint = meant === undefined ? '"colloquy call" lists the tools.' : `Did you mean "${meant}"?`;
  return new ApiError('invalid_input', `There is no tool ${JSON.stringify(tool.slice(0, 100))}. ${hint}`);
}

function lineOf(entry: Entry): string {
  const { time, tool, outcome, guard, duration_ms: ms, rows, transport, client, arguments: args } = entry;
  const size = typeof rows === 'number' ? `${rows} rows` : `${entry['tokens'] ?? 0} tokens`;
  const { user, key } = entry;
  const program = (client as { name?: unknown } | undefined)?.name;
  const shown = stringifyJson(args ?? {});
  const parts = [
    time,
    tool,
    guard === undefined || guard === outcome ? outcome : `${outcome} (${guard})`,
    `${ms} ms`,
    size,
    ...(user === undefined ? [] : [key === undefined ? user : `${user} (${key})`]),
    program === undefined ? transport : `${transport}:${program}`,
    shown.length > ARGUMENTS_CHARS ? `${shown.slice(0, ARGUMENTS_CHARS)}…` : shown,
  ];
  return plainText(parts.map(String).join('  ')).replaceAll('\n', ' ');
}
