import { type Bridge, connectToHost, recordOf, type ToolResult, textOf } from './bridge.ts';
import { el } from './dom.ts';
import { createPanel } from './panel.ts';
import { partOf } from './result.ts';
import { type Base, createSource, messageOf } from './source.ts';
import { wear } from './theme.ts';

/** The view of a result: turns the host's notifications about a tool call into a panel. */

declare const COLLOQUY_VERSION: string;

const place = el('main', {}, el('p', { class: 'waiting' }, 'Waiting for the result…'));
const spoken = el('p', { class: 'unseen', role: 'status' });
document.body.append(place, spoken);

let input: Readonly<Record<string, unknown>> = {};

function say(message: string): void {
  place.replaceChildren(el('p', { class: 'fault', role: 'alert', dir: 'auto' }, message));
}

function titleOf({ context }: Bridge): string {
  // The API's own name is understood, too.
  const lambda = textOf(input['lambda']) ?? textOf(input['queryLambda']);
  const [workspace, tag] = ['workspace', 'tag'].map((name) => textOf(input[name]));
  if (lambda !== undefined) return `${workspace ?? ''}.${lambda}${tag === undefined ? '' : ` (${tag})`}`;
  return textOf(context.toolInfo?.tool.title) === undefined || input['query'] !== undefined
    ? 'Query result'
    : 'Kept result';
}

function baseOf({ where, order_by, columns }: Readonly<Record<string, unknown>>): Base {
  return {
    where: textOf(where),
    orderBy: textOf(order_by),
    columns: Array.isArray(columns) ? columns.map(String) : undefined,
  };
}

function show(bridge: Bridge, answer: ToolResult): void {
  try {
    const first = partOf(answer);
    const { context } = bridge;
    const canFill =
      context.availableDisplayModes?.includes('fullscreen') === true && context.displayMode !== 'fullscreen';
    const fullScreen = () =>
      void bridge.requestDisplayMode('fullscreen').catch((error: unknown) => {
        spoken.textContent = messageOf(error);
      });
    place.replaceChildren(
      createPanel(first, createSource(first, baseOf(input), bridge.callTool), {
        title: titleOf(bridge),
        sql: textOf(input['query']),
        locale: context.locale,
        fullScreen: canFill ? fullScreen : undefined,
        tell: (message) => {
          spoken.textContent = message;
        },
      }),
    );
  } catch (error) {
    say(messageOf(error));
  }
}

function main(): void {
  const early: ToolResult[] = [];
  let bridge: Bridge | undefined;
  const connecting = connectToHost(
    { name: 'colloquy-result', version: COLLOQUY_VERSION },
    {
      input: (args) => {
        input = recordOf(args);
      },
      result: (answer) => {
        if (bridge === undefined) early.push(answer);
        else show(bridge, answer);
      },
      cancelled: (reason) => say(`The call was cancelled${reason === undefined ? '.' : `: ${reason}`}`),
      context: wear,
    },
  );
  connecting.then(
    (connected) => {
      bridge = connected;
      for (const answer of early) show(connected, answer);
      const tellHeight = () => connected.tellHeight(Math.ceil(document.body.getBoundingClientRect().height));
      new ResizeObserver(tellHeight).observe(document.body);
    },
    (error: unknown) => say(messageOf(error)),
  );
}

main();
