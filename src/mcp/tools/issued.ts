import { contract, OPERATIONS } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import { stringifyJson } from '../../contract/json/json.ts';
import { mapSecrets } from '../../contract/secret.ts';
import { messageOf } from '../../contract/text.ts';
import type { Fenced } from '../fence.ts';
import { presentObject } from '../results.ts';
import type { RowTool } from './catalog.ts';
import { type Arguments, nameOf, pathParameters } from './relations.ts';
import type { ToolContext } from './tool.ts';

type Operate = (input: Arguments, options?: object) => Promise<unknown>;

const SHOWN_CHARS = 4;

/**
 * Calls an operation whose answer contains a new secret. The secret is stored where only the human finds it, and the
 * answer says where. If there is no such place, nothing is created. If storing fails, what was created is deleted
 * again: a key that nobody has is only an attack surface.
 */
export async function callIssuing(tool: RowTool, context: ToolContext, input: Arguments): Promise<Fenced> {
  const { client, signal, means } = context;
  const { keepSecret } = means;
  if (keepSecret === undefined) return cannotKeep(tool, input);
  // One process may keep the keys of many users, so the name of the file says whose key it is.
  const owner = input['user'] ?? (await client.getCurrentUser({}, { signal }).catch(() => undefined))?.email;
  signal?.throwIfAborted();
  // Without the signal: an aborted call could leave a secret that nobody has.
  const result = await (client[tool.operation] as Operate)(input);
  const label = [owner, nameOf(result)].filter(Boolean).join('-');
  const secrets: string[] = [];
  const shown = mapSecrets(tool.row.result, result, 'issued', (value) => {
    secrets.push(String(value));
    return `${String(value).slice(0, SHOWN_CHARS)}…`;
  });
  const places: string[] = [];
  try {
    for (const secret of secrets) places.push(await keepSecret(label, secret));
  } catch (error) {
    await takeBack(tool, context, input, result, error);
  }
  const { data } = presentObject(shown);
  if (places.length === 0) return { data };
  return {
    data: { ...data, kept_in: places.join(', ') },
    next: 'Tell the human where it is: kept_in names the place, on the machine of this server. It is whole only there, and you need not read it.',
  };
}

function cannotKeep({ listing }: RowTool, input: Arguments): Fenced {
  const reason =
    'Nothing was made: a new secret must not pass through the conversation, and this server has no other place for it.';
  const error = { tool: listing.name, code: 'cannot_keep_secret', message: reason };
  const command = `colloquy call ${listing.name} '${stringifyJson(input).replaceAll("'", "'\\''")}'`;
  return {
    data: { error: { ...error, command } },
    text: `${listing.name} was refused (cannot_keep_secret): ${reason}\nA human can run in a terminal: ${command}`,
    next: 'Tell the human, who can run the command in a terminal, where the secret is shown.',
    isError: true,
  };
}

/** Deletes what was created; always rejects, saying what is left. */
async function takeBack(
  { row, listing }: RowTool,
  { client }: ToolContext,
  input: Arguments,
  result: unknown,
  cause: unknown,
): Promise<never> {
  const why = messageOf(cause);
  const name = nameOf(result) ?? '';
  const remover = OPERATIONS.find((operation) => {
    const { method, path } = contract[operation];
    return method === 'DELETE' && path.startsWith(`${row.path}/{`) && path.endsWith('}');
  });
  const what = `Cannot keep what ${listing.name} made, ${JSON.stringify(name)}`;
  try {
    if (remover === undefined) throw new Error('nothing deletes it');
    const parameter = pathParameters(contract[remover].path).at(-1) ?? '';
    const path = Object.fromEntries(pathParameters(row.path).map((parameter) => [parameter, input[parameter]]));
    await (client[remover] as Operate)({ ...path, [parameter]: name });
  } catch (error) {
    const left = messageOf(error);
    throw new ApiError('internal', `${what}: ${why}. It could not be deleted either (${left}): delete it.`, { cause });
  }
  throw new ApiError('internal', `${what}: ${why}. So it was deleted again, and nothing has changed.`, { cause });
}
