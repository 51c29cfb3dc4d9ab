import type { AuditFilter, InvocationOf } from '../commands.ts';
import { ApiError } from '../contract/errors.ts';
import { stringifyJson } from '../contract/json/json.ts';
import { nearest } from '../contract/nearest.ts';
import { readAuditLog } from '../local/audit-log.ts';
import { toolCards } from '../mcp/tools/tool-cards.ts';
import { plainText } from './log.ts';
import { forPerson } from './person.ts';

type Entry = Readonly<Record<string, unknown>>;

const ARGUMENTS_CHARS = 120;

/** Prints the audit log of the data folder, newest call last. */
export function audit({ config, filter }: InvocationOf<'audit'>): Promise<number> {
  return forPerson(async () => {
    const { records, unreadable } = readAuditLog(config.dataDir);
    if (config.url !== undefined) {
      const whose = `calls from this machine, on record in "${config.dataDir}"; ${config.url} has a record of its own of those over /mcp`;
      process.stderr.write(`colloquy: These are ${plainText(whose)}.\n`);
    }
    if (filter.tool !== undefined) requireTool(filter.tool, records);
    const chosen = chosenRecords(records, filter);
    const lines = unreadable === 1 ? 'line' : 'lines';
    if (unreadable > 0) process.stderr.write(`colloquy: ${unreadable} ${lines} of the audit log cannot be read.\n`);
    if (chosen.length === 0 && !filter.json) process.stderr.write(`No calls on record in "${config.dataDir}".\n`);
    process.stdout.write(chosen.map((entry) => `${filter.json ? stringifyJson(entry) : lineOf(entry)}\n`).join(''));
    return 0;
  });
}

/** Throws `invalid_input` for a name that is neither a tool nor in the records, which may have unknown tools. */
function requireTool(tool: string, records: readonly Entry[]): void {
  const names = new Set([...toolCards().keys(), ...records.map((entry) => String(entry['tool']))]);
  if (names.has(tool)) return;
  const [meant] = nearest(tool, names, 1);
  const hint = meant === undefined ? '"colloquy call" lists the tools.' : `Did you mean "${meant}"?`;
  throw new ApiError('invalid_input', `There is no tool ${JSON.stringify(tool.slice(0, 100))}. ${hint}`);
}

/** The records that pass the filter, by time; several processes write, each at the end of a call. */
export function chosenRecords(records: readonly Entry[], { tool, sinceMs, failed, lines }: AuditFilter): Entry[] {
  const found = records.filter((entry) => {
    if (tool !== undefined && entry['tool'] !== tool) return false;
    if (failed && (entry['outcome'] === 'ok' || entry['outcome'] === 'asked')) return false;
    return sinceMs === undefined || Date.parse(String(entry['time'])) >= sinceMs;
  });
  found.sort((a, b) => (String(a['time']) < String(b['time']) ? -1 : 1));
  return lines === 0 ? found : found.slice(-lines);
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
