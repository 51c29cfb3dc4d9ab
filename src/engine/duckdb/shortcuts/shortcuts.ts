import type { EngineLimits } from '../../engine.ts';
import type { Log } from '../../log.ts';
import type { Names, ShownColumn } from '../sql/names.ts';
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
  /** As `Catalog.shown`. */
  shown: ShownColumn | undefined;
  limits: Pick<EngineLimits, 'lookupRowsMin'>;
  source: KnownIdsSource;
  log: Log;
  /** Those that are not used (default: none). */
  off?: readonly ShortcutName[] | undefined;
}

/** In place of a shortcut that is not used: it does nothing. */
const NONE: Shortcuts = {
  knownStatements: { try: () => undefined, add: () => undefined },
  lookups: { try: async () => undefined },
  knownIds: {
    try: () => undefined,
    tryLines: () => undefined,
    add: () => undefined,
    addLines: () => undefined,
    begin: () => undefined,
    forget: () => undefined,
    stored: () => undefined,
    close: async () => undefined,
  },
  unparsed: { try: async () => undefined, tryLines: async () => false },
  columnUpdates: { try: async () => undefined },
};

export function createShortcuts({ names, shown, limits, source, log, off = [] }: Context): Shortcuts {
  const all: Shortcuts = {
    knownStatements: createKnownStatements(names),
    lookups: createLookups(names, limits.lookupRowsMin, shown),
    knownIds: createKnownIds(source, log),
    unparsed,
    columnUpdates,
  };
  return { ...all, ...Object.fromEntries(off.map((name) => [name, NONE[name]])) };
}
