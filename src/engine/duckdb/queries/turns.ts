/** A query that runs or waits, as far as it decides whose turn it is. */
export interface Turn {
  /** Whose query it is. */
  caller: string;
  /** When it asked first: a query that is run again keeps it. As `performance.now()`. */
  askedAt: number;
  /** It was stopped once, being long: it is not stopped again, and needs room for a long query. */
  isAgain: boolean;
}

export interface RunningTurn extends Turn {
  startedAt: number;
  /** It can be stopped, and run again later. */
  mayRunAgain: boolean;
  /** When it was told to make room, if it was. */
  toldAt?: number | undefined;
}

export interface Turns<Running extends RunningTurn = RunningTurn, Waiting extends Turn = Turn> {
  running: readonly Running[];
  waiting: readonly Waiting[];
  /** As `performance.now()`. */
  now: number;
}

export interface TurnRules {
  /** Queries that run at once. */
  places: number;
  /** How many of them may be long ones that are not to be stopped. */
  longPlaces: number;
  /** A query is long once it has run for this long. */
  shortMs: number;
}

/** What to do now: start one, stop one, or look again after some time unless something changes before. */
export type Decision<Running, Waiting> =
  | { do: 'start'; query: Waiting }
  | { do: 'stop'; query: Running }
  | { do: 'look'; afterMs: number }
  | { do: 'nothing' };

/**
 * The one rule by which callers share: who holds `held` of `max`, of which `taken` are taken, may take one more as long
 * as no fewer are free than it holds. One caller alone gets about half, whatever it sends, so that the next one finds
 * room at once; the more callers, the less each may hold.
 */
export function mayTake(held: number, taken: number, max: number): boolean {
  const free = max - taken;
  return free > 0 && held <= free;
}

/** How many of them each caller has. */
export function countsOf(turns: readonly Turn[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { caller } of turns) counts.set(caller, (counts.get(caller) ?? 0) + 1);
  return counts;
}

/** How long one that was told to make room is waited for before another is told: most stop within some milliseconds. */
const LEAVING_MS = 250;

/** The long queries that run: those to leave alone, and those that make room if another query needs it. */
function splitLong<Running extends RunningTurn>(
  { running, now }: Turns<Running>,
  { longPlaces, shortMs }: TurnRules,
): { kept: Running[]; spare: Running[] } {
  const long = running.filter((turn) => turn.isAgain || now - turn.startedAt >= shortMs);
  const mayLeave = (turn: Running) => turn.mayRunAgain && !turn.isAgain;
  const kept = long.filter((turn) => !mayLeave(turn));
  const spare: Running[] = [];
  for (const turn of long.filter(mayLeave).toSorted((a, b) => a.startedAt - b.startedAt)) {
    const own = kept.filter(({ caller }) => caller === turn.caller);
    (mayTake(own.length, kept.length, longPlaces) ? kept : spare).push(turn);
  }
  return { kept, spare };
}

/** The one of them that comes before all others. */
function first<T>(turns: readonly T[], isBefore: (a: T, b: T) => boolean): T | undefined {
  let found: T | undefined;
  for (const turn of turns) if (found === undefined || isBefore(turn, found)) found = turn;
  return found;
}

/**
 * Whose turn it is.
 *
 * - A waiting query starts if there is a place within its caller's share. Of several, the one whose caller runs the
 *   fewest, then the one that asked first.
 * - Nothing tells a short query from a long one before it has run. So if one waits that may be short, and all places
 *   that it could have are taken, the newest long one there makes room. It has lost little, waits for room among the
 *   long ones, and then runs to its end. The oldest long ones, within shares as above, never make room.
 */
export function decide<Running extends RunningTurn, Waiting extends Turn>(
  turns: Turns<Running, Waiting>,
  rules: TurnRules,
): Decision<Running, Waiting> {
  const { running, waiting, now } = turns;
  if (waiting.length === 0) return { do: 'nothing' };
  const counts = countsOf(running);
  const held = ({ caller }: Turn) => counts.get(caller) ?? 0;
  const { kept, spare } = splitLong(turns, rules);
  const keptCounts = countsOf(kept);
  const candidates = waiting.filter(
    ({ isAgain, caller }) => !isAgain || mayTake(keptCounts.get(caller) ?? 0, kept.length, rules.longPlaces),
  );
  const next = first(candidates, (a, b) => held(a) < held(b) || (held(a) === held(b) && a.askedAt < b.askedAt));
  if (next === undefined) return { do: 'nothing' };
  // If this one finds no place, no other does, since its caller runs the fewest.
  if (mayTake(held(next), running.length, rules.places)) return { do: 'start', query: next };
  return makeRoom({ running, spare, now, held }, next, rules);
}

interface Room<Running> {
  running: readonly Running[];
  spare: readonly Running[];
  now: number;
  held: (turn: Turn) => number;
}

/** What to do for one whose caller's share is used up, or for which no place is left at all. */
function makeRoom<Running extends RunningTurn>(
  { running, spare, now, held }: Room<Running>,
  { caller }: Turn,
  { places, shortMs }: TurnRules,
): Decision<Running, never> {
  const toldAt = Math.max(...running.map((turn) => turn.toldAt ?? Number.NEGATIVE_INFINITY));
  if (now - toldAt < LEAVING_MS) return { do: 'look', afterMs: LEAVING_MS - (now - toldAt) };
  const isInWay = (turn: Turn) => running.length >= places || turn.caller === caller;
  const leaving = first(
    spare.filter((turn) => isInWay(turn) && turn.toldAt === undefined),
    (a, b) => held(a) > held(b) || (held(a) === held(b) && a.startedAt > b.startedAt),
  );
  if (leaving !== undefined) return { do: 'stop', query: leaving };
  const untilLong = running
    .filter((turn) => isInWay(turn) && turn.mayRunAgain && !turn.isAgain && now - turn.startedAt < shortMs)
    .map((turn) => shortMs - (now - turn.startedAt));
  return untilLong.length === 0 ? { do: 'nothing' } : { do: 'look', afterMs: Math.min(...untilLong) };
}
