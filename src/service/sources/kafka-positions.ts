import type { JsonObject, JsonValue } from '../../contract/json/json.ts';
import type { SourceProgress } from './source.ts';

/** How far each partition was read. */
export interface Positions {
  /** The next offset of each partition. */
  readonly next: ReadonlyMap<number, number>;
  /** Whether the key of a message is the `_id` of its document: decided once, since other ids would be other documents. */
  readonly isKeyed: boolean;
  /** Null: not known. */
  readonly topicId: string | null;
  /** A partition that was made since: it is read from its beginning. */
  add(partition: number): void;
  /** Everything before this offset was read. */
  advance(partition: number, offset: number): void;
  /** The offset up to which there are messages that can be read. */
  setEnd(partition: number, offset: number): void;
  checkpoint(): JsonObject;
  progress(itemTimeMs: number | undefined): SourceProgress;
}

interface State {
  topicId: string | null;
  isKeyed: boolean;
  next: Map<number, number>;
  /** What there was at the beginning: the first offset, and the one behind the last; empty once it was read. */
  begin: Map<number, number>;
  end: Map<number, number>;
}

/** Begins at `begin`; up to `end` is what there is now. */
export function beginAt(begin: ReadonlyMap<number, number>, end: ReadonlyMap<number, number>, topic: Topic): Positions {
  return createPositions({ ...topic, next: new Map(begin), begin: new Map(begin), end: new Map(end) });
}

type Topic = Pick<State, 'topicId' | 'isKeyed'>;

/** Goes on from what `checkpoint` said. */
export function resumeAt({ topic_id: id, keyed, next, begin, end }: JsonObject): Positions {
  return createPositions({
    topicId: typeof id === 'string' ? id : null,
    isKeyed: keyed === true,
    next: fromList(next),
    begin: fromList(begin),
    end: fromList(end),
  });
}

function createPositions({ topicId, isKeyed, next, begin, end }: State): Positions {
  const stable = new Map<number, number>();
  const isScan = () => [...end].some(([partition, offset]) => (next.get(partition) ?? 0) < offset);
  const lengths = (to: (partition: number, offset: number) => number) => {
    let sum = 0;
    for (const [partition, offset] of end) sum += Math.max(0, to(partition, offset) - (begin.get(partition) ?? 0));
    return sum;
  };
  return {
    next,
    isKeyed,
    topicId,
    add: (partition) => void next.set(partition, 0),
    advance(partition, offset) {
      if (offset > (next.get(partition) ?? 0)) next.set(partition, offset);
    },
    setEnd: (partition, offset) => void stable.set(partition, offset),
    checkpoint() {
      const base = { topic_id: topicId, keyed: isKeyed, next: toList(next) };
      return isScan() ? { ...base, begin: toList(begin), end: toList(end) } : base;
    },
    progress(itemTimeMs) {
      let behind = 0;
      for (const [partition, offset] of stable) behind += Math.max(0, offset - (next.get(partition) ?? 0));
      const scan =
        end.size === 0
          ? {}
          : {
              scanned: lengths((partition, offset) => Math.min(offset, next.get(partition) ?? 0)),
              scanTotal: lengths((_, offset) => offset),
            };
      return { phase: isScan() ? 'scan' : 'changes', ...scan, itemTimeMs, behind };
    },
  };
}

/** By partition, which Kafka numbers from 0 on. */
function toList(offsets: ReadonlyMap<number, number>): number[] {
  const list: number[] = [];
  for (const [partition, offset] of offsets) list[partition] = offset;
  return Array.from(list, (offset) => offset ?? 0);
}

function fromList(list: JsonValue | undefined): Map<number, number> {
  return new Map(Array.isArray(list) ? list.map((offset, partition) => [partition, Number(offset)]) : []);
}
