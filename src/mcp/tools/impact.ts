import * as z from 'zod';
import type { Operation } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import { distinctText } from '../../contract/visible.ts';
import { nearestNames } from '../errors.ts';
import type { Fenced } from '../fence.ts';
import { impactOf } from '../guard/blast.ts';
import { isCaller } from '../guard/refusals.ts';
import { rowTools, toolName } from './catalog.ts';
import { handTool } from './hand-tool.ts';
import { nextStepFor } from './next-steps.ts';
import { type Arguments, pathParameters } from './relations.ts';
import type { Tool, ToolContext } from './tool.ts';

/** What deletes each kind of thing. `user_api_key` is not a kind of its own: an API key with a user. */
const DELETES = {
  collection: 'deleteCollection',
  workspace: 'deleteWorkspace',
  alias: 'deleteAlias',
  lambda: 'deleteLambda',
  lambda_version: 'deleteLambdaVersion',
  lambda_tag: 'deleteLambdaTag',
  integration: 'deleteIntegration',
  user: 'deleteUser',
  api_key: 'deleteApiKey',
  allowlist_entry: 'deleteAllowlistEntry',
} as const satisfies Record<string, Operation>;
type Kind = keyof typeof DELETES;

interface ImpactInput {
  kind: Kind;
  name: string;
  workspace?: string;
  part?: string;
  user?: string;
}

/** What a lambda has, of which one is deleted. */
const PARTS: Partial<Record<Kind, string>> = { lambda_version: 'the version', lambda_tag: 'the tag' };

/** The operation that deletes it, and its arguments. */
function deletionOf({ kind, name, workspace = 'commons', part = '', user }: ImpactInput) {
  const operation = user !== undefined ? 'deleteUserApiKey' : DELETES[kind];
  const tool = rowTools().get(toolName(operation));
  if (tool === undefined) throw new ApiError('internal', `There is no tool for ${operation}.`);
  const own = pathParameters(tool.row.path);
  const args: Record<string, unknown> = { workspace, user };
  const [last = '', before = ''] = own.toReversed();
  if (PARTS[kind] !== undefined) Object.assign(args, { [before]: name, [last]: part });
  else args[last] = name;
  return { tool, args: Object.fromEntries(own.map((key) => [key, args[key]])) as Arguments };
}

function check(given: Arguments): void {
  const { kind, part, user } = given as unknown as ImpactInput;
  const wanted = PARTS[kind];
  if (wanted !== undefined && part === undefined) throw wrong(`give ${wanted} of the lambda as "part"`);
  if (wanted === undefined && part !== undefined) {
    const instead = kind === 'lambda' ? ': the kind is lambda_version or lambda_tag' : '';
    throw wrong(`"part" is of no thing of kind "${kind}"${instead}`);
  }
  if (user !== undefined && kind !== 'api_key') throw wrong(`"user" is of API keys only, not of kind "${kind}"`);
}

function wrong(why: string): ApiError {
  return new ApiError('invalid_input', `Cannot call describe_impact: ${why}.`);
}

/** One's own API key is deleted by another operation, which needs no role. */
async function withoutSelf({ client, signal }: ToolContext, input: ImpactInput): Promise<ImpactInput> {
  const { user, ...more } = input;
  if (user === undefined) return input;
  const isSelf = user === 'self' || (await isCaller(client, user, signal));
  return isSelf ? more : input;
}

async function describeImpact(context: ToolContext, given: ImpactInput): Promise<Fenced> {
  const input = await withoutSelf(context, given);
  const { client, signal } = context;
  const { tool, args } = deletionOf(input);
  const { lines, refusal, extent, typedName, undo, until } = await impactOf({ client, signal }, tool, args);
  const { isGuarded } = context;
  const canRestore = until !== undefined && context.offered?.has('restore_from_trash') === true;
  const counts = Object.entries(extent).map(([what, { count }]) => [what, count]);
  return {
    data: {
      tool: tool.listing.name,
      counts: Object.fromEntries(counts),
      facts: lines.map(distinctText),
      can_be_deleted: refusal === undefined,
      ...(refusal === undefined ? {} : { refused_because: withoutLines(refusal.message, lines) }),
      ...(refusal === undefined
        ? {
            human_confirms:
              isGuarded === false
                ? 'not: nobody is asked'
                : typedName === undefined
                  ? 'with a yes'
                  : 'by typing its name',
          }
        : {}),
      undo: canRestore
        ? `It goes to the trash until ${until}: the answer of the delete has the call of restore_from_trash.`
        : undo,
    },
  };
}

/** A refusal without the facts that stand beside it. */
function withoutLines(refusal: string, lines: readonly string[]): string {
  const text = lines.reduce((rest, line) => rest.replace(` ${line}`, () => ''), refusal);
  return text === refusal ? text : text.replace('Delete these first.', 'Delete first what the facts name.');
}

/** Says what depends on a thing and what goes with it, as the question to a human would: from the same code. */
export function impactTool(): Tool {
  return handTool<ImpactInput>({
    name: 'describe_impact',
    effect: 'read',
    role: 'read-only',
    toolset: 'organization',
    title: 'Describe what a deletion means',
    description: 'What deleting a thing would take along and break, when it was last used, and how to undo it.',
    shape: {
      kind: z.enum(Object.keys(DELETES) as Kind[]),
      name: z.string().min(1),
      workspace: z.string().min(1).optional(),
      part: z.string().min(1).optional().describe('Version or tag of the lambda'),
      user: z.string().min(1).optional().describe('Of an API key, if not yours'),
    },
    output: { facts: { type: 'array' } },
    check,
    run: describeImpact,
    next(error, input) {
      if (input['kind'] === undefined) return undefined;
      return nextStepFor(deletionOf(input as unknown as ImpactInput).tool.row, error);
    },
    async nearest({ client, signal }, input, error) {
      if (input['kind'] === undefined) return [];
      const { tool, args } = deletionOf(input as unknown as ImpactInput);
      return nearestNames(client, tool.row, args, error, signal);
    },
  });
}
