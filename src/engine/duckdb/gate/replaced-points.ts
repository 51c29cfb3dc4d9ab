import { foldName } from '../sql/names.ts';
import { constantText, type Node, nodesOf, textOf } from '../sql/tree.ts';
import { isText, type Origins, type Sources, sourcesOf } from './field-origins.ts';
import type { Scope } from './node-scopes.ts';

/** Text of several fields, some of which are numbers, in which characters are replaced that numbers have, too. */
export interface MixedText {
  written: string;
  call: string;
  sources: Sources;
}

/** What of these is found in a statement. */
export interface MixedUses {
  origins: Origins;
  mixed: MixedText[];
}

const REPLACES = /^(?:replace|regexp_replace|translate)$/;

/** A text function that would also take the decimal points of numbers which a UNION has made text. */
export function noteReplaced(walk: MixedUses, node: Node, scope: Scope | undefined): void {
  const call = node['class'] === 'FUNCTION' ? foldName(textOf(node['function_name'])) : '';
  const [text, what] = nodesOf(node['children']);
  if (!REPLACES.test(call) || walk.mixed.length > 0 || !takesPoints(call, constantText(what))) return;
  const sources = sourcesOf(walk.origins, text, scope);
  const found = sources.fields.find(isText);
  if (found === undefined || !sources.fields.some(({ type }) => /^(?:DOUBLE|FLOAT|DECIMAL)/.test(type))) return;
  walk.mixed.push({ written: found.written, call, sources });
}

/** Whether what is replaced has the point of a number in it, as far as it is plain. */
function takesPoints(call: string, what: string | undefined): boolean {
  if (what === undefined) return false;
  if (call !== 'regexp_replace') return what.includes('.');
  const kept = /^\[\^([^\]]*)\]\+?$/.exec(what)?.[1];
  return kept === undefined ? what === '\\.' || what === '[.]' || what === '\\D' : !kept.includes('.');
}
