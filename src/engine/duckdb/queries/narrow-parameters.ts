import { DuckDBTypeId } from '@duckdb/node-api';
import { between } from '../../../contract/text.ts';
import type { Parameter } from '../../engine.ts';
import { edited } from '../sql/corrections/faulty.ts';
import { type Edit, isMark } from '../sql/forms/edit.ts';
import { parameterAt } from '../sql/placeholders.ts';
import { type TokenList, tokenList } from '../sql/token-list.ts';
import { type Failed, isOfSql, type Way } from './again.ts';
import { bindParameters } from './parameters.ts';
import { tokenAt } from './spellings.ts';

/** The call, or the operator, that has no form for its arguments, with their types. */
const callIn = (message: string) => between(message, "No function matches the given name and argument types '", "'.");

/** From a token up to another: a parameter as it is written. */
type Range = readonly [start: number, end: number];

/**
 * The way of a call, or of + and - of a date, that takes integers of 32 bits only, and is given a parameter: `round(x, :n)`,
 * `day + :n`. Parameters are wide, so that nothing that is computed with them overflows; there, and only there, one is cast.
 */
export function narrowParameters(parameters: readonly Parameter[]): Way {
  const editsFor = ({ sql, error }: Failed): Edit[] => {
    const call = parameters.length > 0 && isOfSql(error) ? callIn(error.message) : undefined;
    if (call === undefined || !isOfSql(error)) return [];
    const list = tokenList(sql);
    const places = /^[+-]\(/.test(call) ? besideOperator(list, tokenAt(sql, list, error)) : argumentsOf(list, call);
    return places.flatMap(([first, behind]) => {
      const [start = 0, end = 0] = [list[first]?.start, list[behind - 1]?.end];
      const written = sql.slice(start, end);
      const name = written.slice(1).trim();
      const isWide = bindParameters([name], parameters, true).get(name)?.type.typeId === DuckDBTypeId.BIGINT;
      return isWide ? [{ start, end, text: `CAST(${written} AS INT4)` }] : [];
    });
  };
  return {
    isFor: (failed) => editsFor(failed).length > 0,
    next: (failed) => ({
      sql: edited(failed.sql, editsFor(failed)),
      second: new Set(),
      statement: undefined,
      errors: [...failed.errors, failed.error],
    }),
  };
}

/** The last argument that is a parameter where a type is BIGINT, in each call of this name. */
function argumentsOf(list: TokenList, call: string): Range[] {
  const types = tokenList(call);
  const given = argumentsIn(types, 1);
  const name = types[0]?.text.toLowerCase() ?? '';
  return list.flatMap((token, index) => {
    if (token.kind !== 'word' || token.text.toLowerCase() !== name || !isMark(list[index + 1], '(')) return [];
    const found = argumentsIn(list, index + 1);
    if (found.length !== given.length) return [];
    const last = found.findLast(([start, end], at) => {
      const [type = 0, behind = 0] = given[at] ?? [];
      return behind === type + 1 && types[type]?.text === 'BIGINT' && behindParameter(list, start) === end;
    });
    return last === undefined ? [] : [last];
  });
}

function argumentsIn(list: TokenList, open: number): Range[] {
  const ends = list.endsOf(open);
  return ends.map((end, at) => [at === 0 ? open + 1 : (ends[at - 1] ?? open) + 1, end] as const);
}

/** The parameters on both sides of an operator that are not part of an operand. */
function besideOperator(list: TokenList, operator: number): Range[] {
  if (operator === -1) return [];
  const end = behindParameter(list, operator + 1);
  const start = [operator - 1, operator - 2].find((at) => behindParameter(list, at) === operator) ?? -1;
  const right = end === -1 || BINDS.test(list[end]?.text ?? '') ? [] : [[operator + 1, end] as const];
  const left = start === -1 || BINDS.test(list[start - 1]?.text ?? '') ? [] : [[start, operator] as const];
  return [...left, ...right];
}

/** What binds more closely than + and -. */
const BINDS = /^(?:[*/%^:.[]|::|\/\/|\*\*)$/;

/** Index behind the parameter that begins at a token; -1: none does. */
const behindParameter = (list: TokenList, at: number) => parameterAt(list, at)?.end ?? -1;
