import type { AnyOperation } from '../../contract/contract.ts';
import { isObject, stringifyJson } from '../../contract/json/json.ts';
import type { Client } from '../../http/client.ts';
import { toolName } from './catalog.ts';
import { type Arguments, nameOf } from './relations.ts';

/** What was before a change that goes to no trash, so that the conversation itself has what undoes it. */

/** What a call of an operation moves away from: a tag's version, an alias's collections; undefined: nothing, or not known. */
export async function wasBefore(
  operation: AnyOperation,
  { client, signal }: { client: Client; signal: AbortSignal | undefined },
  input: Arguments,
): Promise<unknown> {
  const workspace = String(input['workspace']);
  if (operation === 'tagLambdaVersion') {
    const place = { workspace, queryLambda: String(input['queryLambda']), tag: String(input['tag_name']) };
    const version = (await client.getLambdaTag(place, { signal }).catch(() => undefined))?.version?.version;
    return version === input['version'] ? undefined : (version ?? undefined);
  }
  if (operation !== 'updateAlias') return undefined;
  const alias = await client.getAlias({ workspace, alias: String(input['alias']) }, { signal }).catch(() => undefined);
  return alias?.collections ?? undefined;
}

/** A longer call is no short line: whoever wants it has to have looked before. */
const CALL_CHARS_MAX = 400;

/** The call that makes a deleted thing again; undefined if there is none, or it is long. */
export function againCall(operation: AnyOperation, args: Arguments, target: Arguments | undefined): string | undefined {
  const made = againOf(operation, args, target ?? {});
  if (made === undefined) return undefined;
  const call = `${toolName(made.operation)} ${stringifyJson(made.args)}`;
  return call.length > CALL_CHARS_MAX ? undefined : call;
}

function againOf(operation: AnyOperation, args: Arguments, target: Arguments) {
  const { workspace } = args;
  const { description } = target;
  const described = typeof description === 'string' && description !== '' ? { description } : {};
  if (operation === 'deleteWorkspace')
    return { operation: 'createWorkspace', args: { workspace, ...described } } as const;
  if (operation === 'deleteAlias' && Array.isArray(target['collections'])) {
    const { collections } = target;
    return { operation: 'createAlias', args: { workspace, alias: args['alias'], collections, ...described } } as const;
  }
  const version = isObject(target['version']) ? nameOf(target['version'], 'version') : undefined;
  if (operation !== 'deleteLambdaTag' || version === undefined) return undefined;
  const made = { workspace, lambda: args['queryLambda'], tag: args['tag'], version };
  return { operation: 'tagLambdaVersion', args: made } as const;
}
