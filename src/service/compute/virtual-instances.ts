import type { ParsedInput } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import { SIZES, type VirtualInstance } from '../../contract/virtual-instances.ts';
import type { EngineSize } from '../../engine/engine.ts';
import { requireVirtualInstance } from '../catalog/not-found.ts';
import type { VirtualInstanceRecord } from '../catalog/records.ts';
import type { CallContext } from '../context.ts';
import { engineSizeOf, fits, largestFitting } from './sizes.ts';

/** The only type of virtual instance that a service on one machine has. */
const TYPE = 'LOCAL';
const MIB = 1024 * 1024;

/** The virtual instance with that id (docs/api.md #55). */
export function getVirtualInstance(ctx: CallContext, input: { virtualInstanceId: string }): VirtualInstance {
  return toVirtualInstance(ctx, requireVirtualInstance(ctx.catalog, input.virtualInstanceId));
}

/** The virtual instances: one, `main` (docs/api.md #56). */
export function listVirtualInstances(ctx: CallContext): VirtualInstance[] {
  return [toVirtualInstance(ctx, requireVirtualInstance(ctx.catalog))];
}

/**
 * Resizes the engine (docs/api.md #57), at once and permanently. Throws `not_found`, `invalid_input` for a size that does
 * not fit this machine, naming the largest that does, or `resource_exceeded` if running work needs more memory.
 */
export async function updateVirtualInstance(
  ctx: CallContext,
  input: ParsedInput<'updateVirtualInstance'>,
): Promise<VirtualInstance> {
  const { machine } = ctx.compute;
  requireVirtualInstance(ctx.catalog, input.virtualInstanceId);
  if (input.new_type !== undefined && input.new_type !== TYPE) {
    throw new ApiError(
      'invalid_input',
      `Cannot resize a virtual instance: "new_type": the only type of this service is "${TYPE}". Leave it out.`,
    );
  }
  const size = input.new_size;
  if (!fits(size, machine)) {
    const largest = SIZES[SIZES.length - 1] ?? size;
    const most = { threads: machine.threads, memoryBytes: machine.memoryBytesMax };
    throw new ApiError(
      'invalid_input',
      `Cannot resize a virtual instance to "${size}": it has ${inWords(engineSizeOf(size, machine))}, and this machine and the limits that the service was started with allow ${inWords(most)}. The largest size that fits is "${largestFitting(largest, machine)}".`,
    );
  }
  await ctx.compute.resize(size);
  return toVirtualInstance(ctx, requireVirtualInstance(ctx.catalog));
}

function toVirtualInstance({ compute, engine }: CallContext, record: VirtualInstanceRecord): VirtualInstance {
  return {
    id: record.id,
    name: 'main',
    description: `The SQL engine of this service: ${inWords(engine.size)}`,
    state: 'ACTIVE',
    current_size: compute.size,
    desired_size: record.size,
    current_type: TYPE,
    desired_type: TYPE,
    default_vi: true,
    created_at: record.createdAt,
    created_by: record.createdBy,
    monitoring_enabled: false,
  };
}

function inWords({ threads, memoryBytes }: EngineSize): string {
  return `${threads} ${threads === 1 ? 'thread' : 'threads'} and ${Math.floor(memoryBytes / MIB)} MiB of memory`;
}
