import type { EngineLimits } from '../../engine.ts';
import type { Log } from '../../log.ts';
import type { Names } from '../sql/names.ts';
import { type ColumnUpdates, columnUpdates } from './column-updates.ts';
import { createKnownIds, type KnownIds, type KnownIdsSource } from './known-ids.ts';
import { createKnownStatements, type KnownStatements } from './known-statements.ts';
import { createLookups, type Lookups } from './lookups.ts';
import { type Unparsed, unparsed } from './unparsed.ts';

/**
 * What makes a journey faster and stands beside it. Each has `try`, whose answer is that of the ordinary way, or
 * undefined: then that is taken. So each can be switched off, and everything still works, only slower.
 */
export interface Shortcuts {
  knownStatements: KnownStatements;
  lookups: Lookups;
  knownIds: KnownIds;
  unparsed: Unparsed;
  columnUpdates: ColumnUpdates;
}

export type ShortcutName = keyof Shortcuts;

interface Context {
  names: Names;
  limits: Pick<EngineLimits, 'lookupRowsMin'>;
  source: KnownIdsSource;
  log: Log;
  /** Those that are not used (default: none). */
  off?: readonly ShortcutName[] | undefined;
}

export function createShortcuts({ names, limits, source, log, off = [] }: Context): Shortcuts {
  const unlessOff = <S extends { try: unknown }>(name: ShortcutName, shortcut: S): S =>
    off.includes(name) ? { ...shortcut, try: () => undefined } : shortcut;
  return {
    knownStatements: unlessOff('knownStatements', createKnownStatements(names)),
    lookups: unlessOff('lookups', createLookups(names, limits.lookupRowsMin)),
    knownIds: unlessOff('knownIds', createKnownIds(source, log)),
    unparsed: unlessOff('unparsed', unparsed),
    columnUpdates: unlessOff('columnUpdates', columnUpdates),
  };
}
