import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '../../contract/errors.ts';
import type { Leading } from '../../engine/engine.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { CollectionRecord, ExternalSource, RecordOf } from '../catalog/records.ts';
import type { Usage } from '../compute/usage.ts';
import { isPulled } from './kinds.ts';
import { checkSource, type OpeningContext, openReader } from './opening.ts';
import { type LiveSource, type Runner, startRunner } from './runner.ts';
import { createSegment, type Segment } from './segment.ts';
import { type PlacedSource, sourceKey, sourcesOf, stateOf } from './states.ts';

/** The sources of all collections: those that are to be read are, whatever comes and goes. */
export interface Sources {
  /** Begins to read, as soon as no other node does. */
  start(): void;
  /** Whether a source can be read with these settings, before its collection is made. Throws the error that `refuse` makes. */
  check(source: ExternalSource, signal: AbortSignal, refuse: (why: string) => ApiError): Promise<void>;
  /** What a source is doing here; undefined: nothing, or another node reads it. */
  liveOf(placed: PlacedSource): Readonly<LiveSource> | undefined;
  /** Where messages of Segment's libraries come in. */
  readonly segment: Pick<Segment, 'take'>;
  /** To be called after a change of collections or integrations: starts and stops what has to be. */
  changed(): void;
  /** Stops a source, runs `work` on its records, and lets it go on if it is to. */
  holding<T>(placed: PlacedSource, work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface SourcesContext extends OpeningContext {
  catalog: Catalog;
  usage: Usage;
  /** While a source is read the service does not leave when idle; undefined: it does. */
  hold?: (() => () => void) | undefined;
}

/** Collections also come and go in ways that nobody tells of here. */
const SYNC_MS = 1_000;

export function createSources(context: SourcesContext): Sources {
  const { engine, catalog, usage, log } = context;
  const segment = createSegment({ engine, catalog, usage, log });
  const running = new Map<string, { runner: Runner; integration: RecordOf<'integration'> | undefined }>();
  /** Sources of which a call changes the records: they are not read meanwhile. */
  const held = new Set<string>();
  let release: (() => void) | undefined;
  let leading: Leading | undefined;
  let wake: () => void = () => undefined;

  /** The sources that are to be read. */
  function wanted(): Map<string, PlacedSource> {
    const all = catalog.derived('collection', pulledSources).filter((placed) => {
      const { isPaused, stopped } = stateOf(catalog, placed);
      return !isPaused && stopped === null && !held.has(sourceKey(placed));
    });
    return new Map(all.map((placed) => [sourceKey(placed), placed]));
  }

  const integrationOf = ({ source }: PlacedSource) => catalog.all('integration').get(source.integrationName);

  /** Starts and stops what has to be; what is read with a connection that has changed begins anew. */
  async function sync(): Promise<void> {
    const before = wanted();
    const isRight = (key: string, integration: unknown) => {
      const placed = before.get(key);
      return placed !== undefined && integrationOf(placed) === integration;
    };
    const gone = [...running].filter(([key, { integration }]) => !isRight(key, integration));
    await Promise.all(gone.map(([key]) => stopOne(key)));
    // While those came to an end others may have been held, and nothing is waited for from here on.
    for (const [key, placed] of wanted()) {
      if (running.has(key)) continue;
      const runner = startRunner(
        {
          engine,
          catalog,
          usage,
          log,
          open: ({ source, collection, index }, signal) => openReader(context, source, signal, collection, index),
          onEnd: () => {
            if (running.get(key)?.runner === runner) running.delete(key);
            settle();
          },
        },
        placed,
      );
      running.set(key, { runner, integration: integrationOf(placed) });
    }
    settle();
  }

  async function stopAll(): Promise<void> {
    await Promise.all([...running.keys()].map(stopOne));
    settle();
  }

  /** Reads as long as this node is the one that does. Runners are started from here alone: what they store relies on that. */
  async function lead(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => wake(), { once: true });
    try {
      while (!signal.aborted) {
        const pause = new AbortController();
        wake = () => pause.abort();
        await engine
          .refresh()
          .then(sync)
          .catch((error: unknown) => log.error({ err: error }, 'sources were not started or stopped'));
        await delay(SYNC_MS, undefined, { signal: pause.signal, ref: false }).catch(() => undefined);
      }
    } finally {
      await stopAll();
    }
  }

  function settle(): void {
    if (running.size === 0) {
      release?.();
      release = undefined;
    } else release ??= context.hold?.();
  }

  /** Until it has come to an end it is among those that run, and whoever else stops it waits for that, too. */
  async function stopOne(key: string): Promise<void> {
    const one = running.get(key);
    await one?.runner.stop();
    if (running.get(key) === one) running.delete(key);
  }

  return {
    start() {
      leading = engine.lead('sources', lead);
    },
    check: (source, signal, refuse) => checkSource(context, source, signal, refuse),
    segment,
    liveOf: (placed) => running.get(sourceKey(placed))?.runner.live,
    changed: () => wake(),
    async holding(placed, work) {
      const key = sourceKey(placed);
      if (held.has(key)) throw new ApiError('not_ready', 'The source is being changed by another call. Try again.');
      held.add(key);
      try {
        if (placed.source.kind === 'segment') return await segment.between(placed, work);
        await stopOne(key);
        return await work();
      } finally {
        held.delete(key);
        wake();
      }
    },
    async close() {
      await leading?.stop();
      await segment.close();
      release?.();
    },
  };
}

/** Of all collections. */
function pulledSources(collections: ReadonlyMap<string, CollectionRecord>): PlacedSource[] {
  return [...collections.values()].flatMap(sourcesOf).filter(({ source }) => isPulled(source.kind));
}
