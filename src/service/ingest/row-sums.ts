import type { SeenRow } from './seen-rows.ts';

/* What tells that the numbers of a row are the sums of those above it. */

export type Numbers = readonly (readonly [at: number, value: number])[];

const TOLERANCE = 0.005;
/** Sums that were rounded, or are of a row more or less. */
const NEARLY = 0.05;
/** Rows that sum up others behind which it is begun to sum, and each of those below may. */
const STARTS_MAX = 50;
/** Sums of so many numbers in one column are no chance, those of two are it in one column alone. */
const ADDENDS_MIN = 3;

/** What was added up in a column. */
interface Column {
  sum: number;
  positive: number;
  negative: number;
}

interface Start {
  rows: number;
  columns: ReadonlyMap<number, Column>;
}

const NOTHING: Column = { sum: 0, positive: 0, negative: 0 };

/** Sums of the numbers of rows, by place: of all, and of those behind each row that sums up others. */
export class RowSums {
  #rows = 0;
  readonly #columns = new Map<number, Column>();
  /** Those behind one that was found are those of its parts no more. */
  #starts: Start[] = [{ rows: 0, columns: new Map() }];

  add(numbers: Numbers): void {
    if (numbers.length > 0) this.#rows += 1;
    for (const [at, value] of numbers) {
      const { sum, positive, negative } = this.#columns.get(at) ?? NOTHING;
      this.#columns.set(at, {
        sum: sum + value,
        positive: positive + Number(value > 0),
        negative: negative + Number(value < 0),
      });
    }
  }

  /** Takes a row that sums up those behind `start`. */
  close(start: Start | undefined): void {
    const at = start === undefined ? -1 : this.#starts.indexOf(start);
    if (at >= 0) this.#starts.length = at + 1;
    if (this.#starts.length < STARTS_MAX) this.#starts.push({ rows: this.#rows, columns: new Map(this.#columns) });
  }

  /** Behind which start the numbers, of which one at least is not zero, are all sums of so many rows. */
  startOf(numbers: Numbers, least = 2): Start | undefined {
    if (numbers.every(([, value]) => value === 0)) return undefined;
    return this.#starts.findLast(
      (start) =>
        this.#rows - start.rows >= least && numbers.every(([at, value]) => isNear(this.#since(start, at).sum, value)),
    );
  }

  /**
   * The same by the numbers alone, and how many digits of them agree: sums in two columns, with a year or a share beside
   * them that is none, or of three numbers in one. Where numbers have both signs, sums of them are equal by chance.
   */
  startByDigits(numbers: Numbers): { start: Start; digits: number } | undefined {
    for (const start of this.#starts.toReversed()) {
      const sums = numbers.filter(([at, value]) => value !== 0 && isNear(this.#since(start, at).sum, value));
      const counts = sums.map(([at]) => addends(this.#since(start, at)));
      // Columns that are alike say it once.
      const values = new Set(sums.map(([, value]) => value));
      const isEnough =
        values.size > 1
          ? numbers.length - sums.length <= 1
          : numbers.length === sums.length && (counts[0] ?? 0) >= ADDENDS_MIN;
      if (values.size > 0 && counts.every((count) => count > 1) && isEnough)
        return { start, digits: Array.from(values, digitsOf).reduce((sum, digits) => sum + digits) };
    }
    return undefined;
  }

  /** Whether one of the numbers is about a sum, or nothing is known that it could be the sum of. */
  mayBe(numbers: Numbers): boolean {
    return this.#starts.some(
      (start) =>
        this.#rows === start.rows ||
        numbers.some(([at, value]) => {
          const { sum } = this.#since(start, at);
          return Math.abs(sum - value) <= NEARLY * Math.max(Math.abs(sum), Math.abs(value));
        }),
    );
  }

  #since({ columns }: Start, at: number): Column {
    const [now, then] = [this.#columns.get(at) ?? NOTHING, columns.get(at) ?? NOTHING];
    return {
      sum: now.sum - then.sum,
      positive: now.positive - then.positive,
      negative: now.negative - then.negative,
    };
  }
}

/** How many numbers of one sign were added up; 0: of both. */
const addends = ({ positive, negative }: Column) => (positive > 0 && negative > 0 ? 0 : positive + negative);
const isNear = (one: number, other: number) => Math.abs(one - other) < TOLERANCE;
const digitsOf = (value: number) => Math.log10(Math.abs(value)) + (Number.isInteger(value) ? 0 : 2);

const PLAIN = /^[+-]?\d{1,15}(?:\.\d{1,15})?$/;
const DECIMAL_COMMA = /^[+-]?\d{1,3}(?:\.?\d{3}){0,4},\d{1,4}$/;
const THOUSANDS = /^[+-]?\d{1,3}(?:,\d{3}){1,4}(?:\.\d{1,4})?$/;

/** The numbers of a row, by place. */
export function numbersIn({ cells, forms }: SeenRow): Numbers {
  const found: [number, number][] = [];
  for (const [at, form] of forms.entries()) {
    if (form !== 'number') continue;
    const text = (cells[at] ?? '').trim();
    if (PLAIN.test(text)) found.push([at, Number(text)]);
    else if (DECIMAL_COMMA.test(text)) found.push([at, Number(text.replaceAll('.', '').replace(',', '.'))]);
    else if (THOUSANDS.test(text)) found.push([at, Number(text.replaceAll(',', ''))]);
  }
  return found;
}
