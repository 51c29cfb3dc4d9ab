import { mapOfObject } from '../sql/corrections/calls.ts';
import { edited } from '../sql/corrections/faulty.ts';
import { OBJECT_NO_MAP } from '../sql/text-arguments.ts';
import { tokenList } from '../sql/token-list.ts';
import { isOfSql, type Way } from './again.ts';
import { tokenAt } from './spellings.ts';

/** Calls of one statement that are read so. */
const CALLS_MAX = 8;

/**
 * The way of a function of maps that is given an object: as a map. Whether many like keys are stored as a map or as an object
 * is nothing that who asks should have to know. Not if the values would be JSON: compared with text they are silently
 * never equal. For one statement.
 */
export function objectsAsMaps(): Way {
  let left = CALLS_MAX;
  return {
    isFor: ({ error }) => isOfSql(error) && error.message.includes(OBJECT_NO_MAP),
    next({ sql, error }) {
      if (!isOfSql(error) || left === 0) return null;
      left -= 1;
      const list = tokenList(sql);
      const [said = ''] = error.message.split('\n', 1);
      const [edits] = mapOfObject({ sql, list, at: tokenAt(sql, list, error), said, message: error.message });
      if (edits === undefined || edits.some(({ text }) => text.endsWith('MAP(VARCHAR, JSON)'))) return null;
      return { sql: edited(sql, edits), second: new Set(), statement: undefined, errors: [] };
    },
  };
}
