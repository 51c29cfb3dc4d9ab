import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import type { Assistant } from './assistant.ts';
import { lineText } from './fence.ts';
import { promptValues } from './prompts.ts';
import { asProtocolErrors, resourceValues } from './resources/resources.ts';

const VALUES_MAX = 100;

/** Registers completion for the variables of resource templates and for the arguments of prompts. */
export function registerCompletion(
  server: Pick<Server, 'setRequestHandler'>,
  { connect, means, tools }: Assistant,
): void {
  server.setRequestHandler('completion/complete', ({ params }, ctx) =>
    asProtocolErrors(async () => {
      const { ref, argument, context } = params;
      const where = ref.type === 'ref/resource' ? ref.uri : ref.name;
      const values =
        ref.type === 'ref/resource'
          ? resourceValues(await tools, ref.uri, argument.name)
          : promptValues(await tools, ref.name, argument.name);
      if (values === undefined) {
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          lineText(
            `Cannot complete "${argument.name}" of "${where}": there is no such ${ref.type === 'ref/resource' ? 'template or variable' : 'prompt or argument'}.`,
          ),
        );
      }
      const known = await values({ connect, signal: ctx.mcpReq.signal, means }, context?.arguments ?? {});
      return { completion: completionOf(known, argument.value) };
    }),
  );
}

/** The values that begin with what was typed, followed by those that contain it. */
function completionOf(known: readonly string[], typed: string) {
  const wanted = typed.toLowerCase();
  // If a value would be shown escaped, its shown form would name something else.
  const holding = known.filter((value) => lineText(value) === value && value.toLowerCase().includes(wanted));
  const begins = (value: string) => value.toLowerCase().startsWith(wanted);
  const matching = [...holding.filter(begins), ...holding.filter((value) => !begins(value))];
  return {
    values: matching.slice(0, VALUES_MAX),
    total: matching.length,
    hasMore: matching.length > VALUES_MAX,
  };
}
