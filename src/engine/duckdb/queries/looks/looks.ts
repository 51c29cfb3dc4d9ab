import type { ValueUses } from '../../gate/value-uses.ts';
import { ORDERS_OR_CASTS, rowsWithoutTries } from '../../sql/own-rows.ts';
import { alike, misspelt, near, nulls } from './alike.ts';
import { blanks } from './blanks.ts';
import { clocks, lostByCasts, misread, shortYears, thousands } from './casts.ts';
import { moments, zones } from './days.ts';
import { epochUnits } from './epochs.ts';
import { fanOuts } from './fan-outs.ts';
import { farTimes } from './far-times.ts';
import { LOOKS_MS, untilLate } from './in-time.ts';
import { keys } from './joined-keys.ts';
import { json } from './json.ts';
import type { Asked, Kind, Look, Question } from './look.ts';
import { orders } from './orders.ts';
import { fewTextsOf, type SeenText } from './samples.ts';
import { sentinels } from './sentinels.ts';
import { wholeDays } from './whole-days.ts';

/**
 * All that an answer is looked at for, in the order in which it is said: each has what of the statement triggers it, the
 * fields whose texts it reads, and what it says.
 */
const LOOKS: readonly Look[] = [
  near,
  misspelt,
  keys,
  fanOuts,
  sentinels,
  nulls,
  blanks,
  alike,
  orders,
  lostByCasts,
  thousands,
  misread,
  shortYears,
  clocks,
  epochUnits,
  wholeDays,
  zones,
  moments,
  json,
  farTimes,
];

/** Warnings of one kind. */
const WARNINGS_MAX = 3;

/** Those to which the types of fields may be enough. */
const OF_TYPES: readonly Look[] = [orders, json];

/** What an answer's values have that the author of its statement does not expect. */
export const lookAt = (uses: ValueUses, asked: Asked): Promise<string[]> =>
  answered(
    LOOKS.flatMap((look) => look(uses, asked)),
    asked,
  );

/** What of it a statement and the types of its fields tell, whatever their values are. */
export function lookWithoutData(uses: ValueUses, asked: Asked): Promise<string[]> {
  const questions = OF_TYPES.flatMap((look) => look(uses, asked));
  return answered(
    questions.filter(({ samples }) => samples.length === 0),
    asked,
  );
}

/** What is so of the values that a statement reads, and not of what it compares them with. */
const OF_VALUES: ReadonlySet<Kind> = new Set(['order', 'lost']);

/** What to say; of such kinds only if it is so of the rows that WHERE keeps, too. */
async function saidOf(question: Question, texts: readonly SeenText[][], asked: Asked): Promise<string | undefined> {
  const said = await question.said(texts);
  const { kind, samples } = question;
  if (said === undefined || !OF_VALUES.has(kind) || samples.length === 0) return said;
  const from = rowsWithoutTries(asked.ran, ORDERS_OR_CASTS);
  const kept = samples.map((one) => ({ ...one, field: { from, ...one.field } }));
  return from === undefined ? said : question.said(await fewTextsOf(kept, asked.data));
}

async function answered(questions: readonly Question[], asked: Asked): Promise<string[]> {
  const samples = questions.flatMap((question) => question.samples);
  const said = new Map<string, Kind>();
  const countOf = (kind: Kind) => [...said.values()].filter((one) => one === kind).length;
  const until = performance.now() + LOOKS_MS;
  const isLate = () => performance.now() > until;
  await untilLate(asked.data.connection, until, async () => {
    const texts = await fewTextsOf(samples, asked.data);
    for (const question of questions) {
      if (isLate()) break;
      const own = texts.splice(0, question.samples.length);
      // What is known of the fields says more than the times of an answer.
      if (countOf(question.kind) >= WARNINGS_MAX || (question.kind === 'farTime' && countOf('time') > 0)) continue;
      const warning = await saidOf(question, own, asked);
      // What was interrupted has not seen all.
      if (warning !== undefined && !isLate()) said.set(warning, question.kind);
    }
  });
  return [...said.keys()];
}
