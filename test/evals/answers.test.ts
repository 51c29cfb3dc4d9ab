import { describe, expect, it } from 'vitest';
import { readSaid, saidIn, type Truth, wrongIn } from '../../evals/answers.ts';

/** Of answers that are right and answers that are wrong, those that are taken for the other. */
const misjudged = (truth: Truth, right: readonly unknown[], wrong: readonly unknown[]) => [
  ...right.filter((answer) => wrongIn(answer, truth) !== undefined),
  ...wrong.filter((answer) => wrongIn(answer, truth) === undefined),
];

describe('an answer', () => {
  it('that is a number is right in each way of writing it', () => {
    expect(
      misjudged(
        { number: 1234 },
        [1234, '1234', '1,234', '1,234 days', { days: 1234 }, [1234]],
        [1235, 'about', '12 34', null, undefined, {}, [1234, 1], '1234 or 1235'],
      ),
    ).toEqual([]);
    expect(misjudged({ number: -2.5 }, [-2.5, '-2.5 %'], [2.5])).toEqual([]);
  });

  it('that is a number may be off by what the task allows', () => {
    expect(misjudged({ number: 63.54, within: 0.06 }, [63.5, '63.6 %'], [63.4, 63.7, 0.635])).toEqual([]);
  });

  it('that is a name is right without case, accents and punctuation', () => {
    expect(
      misjudged(
        { text: ["Côte d'Ivoire", 'CIV'] },
        ['cote d ivoire', 'civ', ['CIV']],
        ['Ivory', '', null, { a: 1, b: 2 }],
      ),
    ).toEqual([]);
  });

  it('that is a set of names is right in any order', () => {
    const truth = { names: ['Belgium', 'Switzerland'] };
    expect(
      misjudged(truth, [['switzerland', 'Belgium', 'belgium'], 'Belgium, Switzerland'], [['Belgium'], [], 7, null]),
    ).toEqual([]);
    expect(misjudged(truth, [], [['Belgium', 'Switzerland', 'France']])).toEqual([]);
    expect(
      misjudged({ names: ['totals', 'St. Lucia'] }, [['desk.totals', 'St. Lucia']], [['desk.totals.x', 'St. Lucia']]),
    ).toEqual([]);
  });

  it('that is counts is right as object, pairs or records', () => {
    const truth = { counts: { Asia: 46, Europe: 45 } };
    expect(
      misjudged(
        truth,
        [
          { asia: '46', Europe: 45 },
          [
            ['Europe', 45],
            ['Asia', 46],
          ],
          [
            { region: 'Asia', n: 46 },
            { region: 'Europe', n: 45 },
          ],
        ],
        [{ Asia: 46 }, { Asia: 46, Europe: 44 }, { Asia: 46, Europe: 45, Africa: 1 }, 'Asia', [null]],
      ),
    ).toEqual([]);
  });

  it('is found after the last mark, with or without a fence', () => {
    expect(saidIn('x ANSWER: 1\nANSWER: {"answer": [1], "unsure": true}')).toEqual({ answer: [1], unsure: true });
    expect(saidIn('ANSWER: ```json\n{"answer": {"a": 1}}\n```')).toEqual({ answer: { a: 1 }, unsure: false });
    expect(saidIn('ANSWER: Paris\nThat is all.')).toEqual({ answer: 'Paris', unsure: false });
    expect(saidIn('I do not know.')).toBeUndefined();
    expect(readSaid('["a"]')).toEqual({ answer: ['a'], unsure: false });
  });
});
