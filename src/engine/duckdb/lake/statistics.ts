import { CATALOG_SCHEMA } from './lake-options.ts';
import { createdOnce } from './triggers.ts';

/*
 * What the catalog knows of the least and the greatest value of a column, by which queries leave out whole tables, stays
 * true. When one transaction writes several files of a table and the first has no value in a column, the engine's
 * extension (1.5.5) stores that neither is known, and takes that for "no value yet" with the next write: from then on the
 * values of that write alone count, and conditions on all others find nothing. Here what is not known is not known later.
 */

const unknown = (column: string) =>
  `NEW.${column} := CASE WHEN OLD.${column} IS NULL THEN NULL ELSE NEW.${column} END;`;

/** Creates the trigger; to be run while nobody else does. */
export const SOUND_STATISTICS = `
CREATE OR REPLACE FUNCTION ${CATALOG_SCHEMA}.colloquy_statistics() RETURNS trigger LANGUAGE plpgsql AS $statistics$
BEGIN
  ${unknown('min_value')}
  ${unknown('max_value')}
  RETURN NEW;
END $statistics$;
${createdOnce(
  'colloquy_statistics',
  `${CATALOG_SCHEMA}.ducklake_table_column_stats`,
  `CREATE TRIGGER colloquy_statistics BEFORE UPDATE ON ${CATALOG_SCHEMA}.ducklake_table_column_stats
    FOR EACH ROW WHEN (OLD.min_value IS NULL OR OLD.max_value IS NULL) EXECUTE FUNCTION ${CATALOG_SCHEMA}.colloquy_statistics()`,
)}
`;
