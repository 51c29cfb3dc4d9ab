/**
 * SQL that creates a trigger of a table unless there is one of its name: creating one waits for all who use the table, however
 * long their transaction is, and all others wait for that. To change what it does, replace its function; to change when it
 * runs, give it another name.
 */
export function createdOnce(name: string, table: string, create: string): string {
  return `DO $once$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = '${name}' AND tgrelid = '${table}'::regclass) THEN
    ${create};
  END IF;
END $once$;`;
}
