import { availableParallelism, totalmem } from 'node:os';
import type { EngineLimits, GiveUp } from '../engine.ts';
import type { Log } from '../log.ts';
import type { EngineParts } from './compose.ts';
import { endProcess } from './connections/end-process.ts';
import type { ShortcutName } from './shortcuts/shortcuts.ts';

/** What an engine can be told, wherever its data are. */
export interface EngineOptions {
  /** Limits left out have the defaults documented in `EngineLimits`. */
  limits?: Partial<EngineLimits> | undefined;
  log?: Log | undefined;
  /** Called when the only thing left is to end the process; default: ends it at once, with the message. */
  giveUp?: ((reason: GiveUp) => void) | undefined;
  /** Shortcuts that are not used; everything works as with them, only slower (default: none). */
  shortcutsOff?: readonly ShortcutName[] | undefined;
}

const MIB = 1024 * 1024;

function withDefaults(limits: Partial<EngineLimits> = {}): EngineLimits {
  return {
    queryTimeoutMs: limits.queryTimeoutMs ?? 120_000,
    resultRowsMax: limits.resultRowsMax ?? 100_000,
    resultBytesMax: limits.resultBytesMax ?? 64 * MIB,
    queriesMax: limits.queriesMax ?? 4,
    queueMax: limits.queueMax ?? 128,
    // Measured against a lookup: scanning a thousand documents takes half the time, a million seven times as long.
    lookupRowsMin: limits.lookupRowsMin ?? 50_000,
    memoryBytes: limits.memoryBytes ?? Math.max(Math.floor(totalmem() / 4), 512 * MIB),
    threads: limits.threads ?? availableParallelism(),
    tempBytesMax: limits.tempBytesMax ?? 4 * 1024 * MIB,
  };
}

const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

export function partsOf({ limits, log = SILENT, giveUp, shortcutsOff = [] }: EngineOptions): EngineParts {
  return {
    limits: withDefaults(limits),
    log,
    giveUp: giveUp ?? (({ message }) => endProcess(message)),
    shortcutsOff,
  };
}
