import { UsageError } from '../../config.ts';
import { EXPORT_FORMATS, type ExportFormat } from '../../contract/results.ts';
import { folder } from '../../setting-values.ts';

export interface ExportRequest {
  source: { workspace: string; collection: string } | { sql: string } | { result: string } | 'all';
  /** Absent: by the name of the file, or else `jsonl`. */
  format: ExportFormat | undefined;
  gzip: boolean;
  /** The file, or of everything the folder; absent: standard output. */
  to: string | undefined;
  /** Replace a file that exists. */
  force: boolean;
}

/** Values of its options, by their names. */
export interface ExportFlags {
  sql?: string;
  result?: string;
  all?: boolean;
  format?: string;
  gzip?: boolean;
  to?: string;
  force?: boolean;
}

/** What the command line asks for. Throws `UsageError`. */
export function exportRequest(name: string | undefined, options: ExportFlags): ExportRequest {
  const { sql, result, all, format: asked, gzip = false, to = '-', force = false } = options;
  const given = [name, sql, result, all].filter((one) => one !== undefined);
  if (given.length !== 1) throw new UsageError('"export" takes a collection, --sql, --result or --all: one of them.');
  const format = EXPORT_FORMATS.find((one) => one === asked);
  if (asked !== undefined && format === undefined)
    throw new UsageError(
      `--format is ${JSON.stringify(asked.slice(0, 100))}: expected one of ${EXPORT_FORMATS.join(', ')}.`,
    );
  if (force && to === '-') throw new UsageError('--force replaces a file: name one with --to.');
  if (all === true && (to === '-' || force)) throw new UsageError('--all needs a new folder: name it with --to.');
  const dot = name?.lastIndexOf('.') ?? -1;
  const place = { workspace: dot < 0 ? 'commons' : name?.slice(0, dot), collection: name?.slice(dot + 1) };
  const source =
    all === true
      ? 'all'
      : sql !== undefined
        ? { sql }
        : result !== undefined
          ? { result }
          : (place as { workspace: string; collection: string });
  return { source, format, gzip, to: to === '-' ? undefined : folder(to), force };
}
