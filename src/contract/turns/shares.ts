/** A query that runs or waits, as far as it decides whose turn it is. */
export interface Turn {
  /** Whose query it is. */
  caller: string;
  /** When it asked first: a query that is run again keeps it. As `performance.now()`. */
  askedAt: number;
  /** It was stopped, being long, and needs one of the places for long queries. */
  isAgain: boolean;
}

export interface RunningTurn extends Turn {
  startedAt: number;
  /** It can be stopped, and run again later. */
  mayRunAgain: boolean;
  /** It was told to give up its place. */
  isLeaving?: boolean | undefined;
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
  /** How many of them may be long. */
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

/** A long query among those of all callers: each caller's first comes before anyone's second. */
interface Ranked<Running> {
  turn: Running;
  /** How many of its caller started before. */
  rank: number;
}

function isAhead(a: Ranked<Turn>, b: Ranked<Turn>): boolean {
  return a.rank < b.rank || (a.rank === b.rank && a.turn.askedAt < b.turn.askedAt);
}

/** The long queries that run. */
function ranked<Running extends RunningTurn>({ running, now }: Turns<Running>, { shortMs }: TurnRules) {
  const ranks = new Map<string, number>();
  const isLong = (turn: Running) => !turn.isLeaving && (turn.isAgain || now - turn.startedAt >= shortMs);
  return running
    .filter(isLong)
    .toSorted((a, b) => a.startedAt - b.startedAt)
    .map((turn): Ranked<Running> => {
      const rank = ranks.get(turn.caller) ?? 0;
      ranks.set(turn.caller, rank + 1);
      return { turn, rank };
    });
}

/**
 * Whose turn it is.
 *
 * - A waiting query starts if there is a place within its caller's share. Of several, the one whose caller runs the
 *   fewest, then the one that asked first.
 * - Nothing tells a short query from a long one before it has run. So each may start, and if it then is one long query
 *   too many, it is stopped. It has lost little, and waits for one of the places for long queries. These go round: each
 *   caller's first comes before anyone's second.
 */
export function decide<Running extends RunningTurn, Waiting extends Turn>(
  turns: Turns<Running, Waiting>,
  rules: TurnRules,
): Decision<Running, Waiting> {
  const { running, waiting, now } = turns;
  const long = ranked(turns, rules);
  const isTooMany = (one: Ranked<Turn>) => long.filter((other) => isAhead(other, one)).length >= rules.longPlaces;
  const spare = long.findLast((one) => one.turn.mayRunAgain && isTooMany(one));
  if (spare !== undefined) return { do: 'stop', query: spare.turn };
  const counts = countsOf(running);
  const longCounts = countsOf(long.map(({ turn }) => turn));
  /** Those that run are not stopped for one that would come no earlier than they. */
  const hasLongPlace = (turn: Waiting) => {
    const rank = longCounts.get(turn.caller) ?? 0;
    return long.filter((other) => other.rank <= rank).length < rules.longPlaces;
  };
  const held = ({ caller }: Turn) => counts.get(caller) ?? 0;
  let next: Waiting | undefined;
  for (const turn of waiting) {
    if (turn.isAgain && !hasLongPlace(turn)) continue;
    const isFirst =
      next === undefined || held(turn) < held(next) || (held(turn) === held(next) && turn.askedAt < next.askedAt);
    if (isFirst) next = turn;
  }
  // If this one finds no place, no other does, since its caller runs the fewest.
  if (next !== undefined && mayTake(held(next), running.length, rules.places)) return { do: 'start', query: next };
  const untilLong = running
    .filter((turn) => turn.mayRunAgain && !turn.isAgain && now - turn.startedAt < rules.shortMs)
    .map((turn) => rules.shortMs - (now - turn.startedAt));
  return untilLong.length === 0 ? { do: 'nothing' } : { do: 'look', afterMs: Math.min(...untilLong) };
}
