import * as z from 'zod';
import type { Operation } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import { counted } from '../../contract/in-words.ts';
import { distinctText } from '../../contract/visible.ts';
import { nearestNames } from '../errors.ts';
import type { Fenced } from '../fence.ts';
import { impactOf } from '../guard/blast.ts';
import { rowTools, toolName } from './catalog.ts';
import { handTool } from './hand-tool.ts';
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
type Deleted = keyof typeof DELETES;

const KINDS = [...(Object.keys(DELETES) as Deleted[]), 'virtual_instance'] as const;

interface ImpactInput {
  kind: (typeof KINDS)[number];
  name: string;
  workspace?: string;
  part?: string;
  user?: string;
}

/** The operation that deletes it, and its arguments. */
function deletionOf({ kind, name, workspace = 'commons', part = '', user }: ImpactInput & { kind: Deleted }) {
  const operation = kind === 'api_key' && user !== undefined ? 'deleteUserApiKey' : DELETES[kind];
  const tool = rowTools().get(toolName(operation));
  if (tool === undefined) throw new ApiError('internal', `There is no tool for ${operation}.`);
  const own = pathParameters(tool.row.path);
  const isPart = kind === 'lambda_version' || kind === 'lambda_tag';
  const args: Record<string, unknown> = { workspace, user };
  const [last = '', before = ''] = own.toReversed();
  if (isPart) Object.assign(args, { [before]: name, [last]: part });
  else args[last] = name;
  return { tool, args: Object.fromEntries(own.map((key) => [key, args[key]])) as Arguments };
}

function check(given: Arguments): void {
  const { kind, part } = given as unknown as ImpactInput;
  const wants = kind === 'lambda_version' ? 'the version' : kind === 'lambda_tag' ? 'the tag' : undefined;
  if (wants === undefined || part !== undefined) return;
  throw new ApiError('invalid_input', `Cannot call describe_impact: give ${wants} of the lambda as "part".`);
}

async function describeImpact(context: ToolContext, input: ImpactInput): Promise<Fenced> {
  const { kind } = input;
  if (kind === 'virtual_instance') return describeInstance(context, input.name);
  const { client, signal } = context;
  const { tool, args } = deletionOf({ ...input, kind });
  const { lines, refusal, extent, typedName, undo } = await impactOf(client, tool, args, signal);
  const counts = Object.entries(extent).map(([what, { count }]) => [what, count]);
  return {
    data: {
      tool: tool.listing.name,
      counts: Object.fromEntries(counts),
      facts: lines.map(distinctText),
      can_be_deleted: refusal === undefined,
      ...(refusal === undefined ? {} : { refused_because: refusal.message }),
      ...(refusal === undefined
        ? { human_confirms: typedName === undefined ? 'with a yes' : 'by typing its name' }
        : {}),
      undo,
    },
  };
}

/** It cannot be deleted; what it is about is its size. */
async function describeInstance({ client, signal }: ToolContext, id: string): Promise<Fenced> {
  const {
    name,
    current_size: size,
    description,
  } = await client.getVirtualInstance({ virtualInstanceId: id }, { signal });
  const lambdas = await client.listLambdas({}, { signal });
  return {
    data: {
      tool: 'update_virtual_instance',
      counts: { lambdas: lambdas.length, mounts: 0 },
      facts: [
        `${name} has the size ${size}. ${description ?? ''}`.trim(),
        `All queries and ${counted(lambdas.length, 'lambdas')} run on it. Nothing is mounted on it: it reads every collection.`,
        'Another size takes effect at once, also for what is running.',
      ],
      can_be_deleted: false,
      undo: 'Resize it again.',
    },
  };
}

/** Says what depends on a thing and what goes with it, as the question to a human would: from the same code. */
export function impactTool(): Tool {
  return handTool<ImpactInput>({
    name: 'describe_impact',
    effect: 'read',
    role: 'read-only',
    toolset: 'organization',
    title: 'Describe what a deletion means',
    description:
      'What deleting a thing would take along and break, when it was last used, and whether that can be undone.',
    shape: {
      kind: z.enum(KINDS),
      name: z.string().min(1),
      workspace: z.string().min(1).optional(),
      part: z.string().min(1).optional().describe('Version or tag of the lambda'),
      user: z.string().min(1).optional().describe('Of an API key, if not yours'),
    },
    output: { facts: { type: 'array' } },
    check,
    run: describeImpact,
    async nearest({ client, signal }, input, error) {
      const given = input as unknown as ImpactInput;
      if (given.kind === 'virtual_instance') return [];
      const { tool, args } = deletionOf({ ...given, kind: given.kind });
      return nearestNames(client, tool.row, args, error, signal);
    },
  });
}
