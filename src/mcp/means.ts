import type { FindFiles, OpenFile } from './tools/file.ts';

/** What this process provides to tools, besides the service. Whatever is absent is not available here. */
export interface Means {
  /**
   * Stores a new secret where only the human finds it, and resolves to a description of that place. `label` says whose
   * or what secret it is. Absent: calls that would create a secret are refused.
   */
  keepSecret?: (label: string, secret: string) => Promise<string>;
  /** Absent: arguments cannot refer to secrets. */
  secretOf?: SecretOf;
  /** Absent: no files can be loaded. */
  openFile?: OpenFile;
  /** Present if and only if `openFile` is. */
  findFiles?: FindFiles;
  /** Checks that a new file may be written at a path; absent: none can. */
  exportTarget?: (path: string) => Promise<ExportTarget>;
  /** The folders in which that may be; present if and only if `exportTarget` is. */
  exportFolders?: readonly string[];
  /** This process is on the machine of the service, over whose socket alone the trash is reached. */
  reachesTrash?: true;
  /** Absent: the operator does not let assistants read the audit log. */
  readAudit?: ReadAudit;
  /** The user of this process is on another machine than the service: paths there are not revealed. */
  isElsewhere?: boolean;
}

/** The newest records of the audit log that `wanted` takes, newest first, at most `count`. */
export type ReadAudit = (
  wanted: (record: Readonly<Record<string, unknown>>) => boolean,
  count: number,
) => Promise<Readonly<Record<string, unknown>>[]>;

/** A file that does not exist yet, in a folder that the operator allows. */
export interface ExportTarget {
  /** With symbolic links resolved. */
  path: string;
  /** Writes it whole or not at all, and returns its size. */
  write(source: AsyncIterable<Buffer>, options: { gzip: boolean; signal?: AbortSignal | undefined }): Promise<number>;
}

/**
 * The secret that a reference (`env:NAME`, `file:PATH`) stands for. Throws `invalid_input`, naming only the reference.
 */
export type SecretOf = (reference: string) => string;
