import { type DuckDBType, DuckDBTypeId } from '@duckdb/node-api';
import { ITEM_BYTES_MAX } from '../../../contract/json/json-scan.ts';
import { quoteText } from '../sql/names.ts';
import { typeName } from '../values/values.ts';

export const TOO_LARGE = `has more than ${ITEM_BYTES_MAX} bytes (10 MiB), which no document may have`;

/**
 * SQL condition for rows that are larger than a document may be, whatever its fields are called: by the lengths of their
 * texts, bytes and lists, so that none of them is made JSON to find that out. Undefined: none can be.
 */
export function isTooLarge(columns: readonly { type: DuckDBType; sql: string }[]): string | undefined {
  const bytes = columns.flatMap(({ type, sql }) => bytesOf(type, sql) ?? []);
  return bytes.length === 0 ? undefined : `(${sumOf(bytes)} > ${ITEM_BYTES_MAX})`;
}

/** SQL for the bytes that a value has as JSON at least; undefined: they are few, whatever the value. */
export function bytesOf(type: DuckDBType, sql: string, level = 0): string | undefined {
  const item = `x${level}`;
  switch (type.typeId) {
    case DuckDBTypeId.VARCHAR:
      return `strlen(${sql})`;
    case DuckDBTypeId.BLOB:
      return `octet_length(${sql}) * 4 // 3`;
    case DuckDBTypeId.LIST:
    case DuckDBTypeId.ARRAY: {
      const list = type.typeId === DuckDBTypeId.LIST ? sql : `CAST(${sql} AS ${typeName(type.valueType)}[])`;
      const inner = bytesOf(type.valueType, item, level + 1);
      // Each item has a character, and a comma behind it.
      if (inner === undefined) return `2 * len(${list})`;
      return `list_sum(list_transform(${list}, lambda ${item}: 2 + ${sumOf([inner])}))`;
    }
    case DuckDBTypeId.STRUCT: {
      const members = type.entryNames.flatMap(
        (name, at) =>
          bytesOf(type.entryTypes[at] as DuckDBType, `struct_extract(${sql}, ${quoteText(name)})`, level) ?? [],
      );
      return members.length === 0 ? undefined : sumOf(members);
    }
    case DuckDBTypeId.MAP: {
      const [key, value] = ['key', 'value'].map((part) => `struct_extract(${item}, '${part}')`) as [string, string];
      const inner = [bytesOf(type.keyType, key, level + 1), bytesOf(type.valueType, value, level + 1)];
      const bytes = sumOf(['2', ...inner.filter((one) => one !== undefined)]);
      return `list_sum(list_transform(map_entries(${sql}), lambda ${item}: CASE WHEN ${value} IS NULL THEN 0 ELSE ${bytes} END))`;
    }
    default:
      return undefined;
  }
}

function sumOf(parts: readonly string[]): string {
  return `(${parts.map((part) => `coalesce(${part}, 0)`).join(' + ')})`;
}
