import { join } from 'node:path';
import { secretVariables } from '../config.ts';
import { type AuditLog, findRecords, openAuditLog } from '../local/audit-log.ts';
import { keepKey } from '../local/key-files.ts';
import { secretReader } from '../local/secret-references.ts';
import type { Audit } from '../mcp/audit.ts';
import type { Means } from '../mcp/means.ts';
import type { Config } from '../settings.ts';

type Folders = Pick<Config, 'dataDir' | 'secretDir'>;
type FileFolders = Pick<Config, 'dataDir'> & {
  allowDirs?: readonly string[] | undefined;
  allowHosts?: readonly string[] | undefined;
  exportDirs?: readonly string[] | undefined;
};

/** How secrets get past the assistant that started this process: by files in the data folder, and by references. */
export function secretMeans({ dataDir, secretDir }: Folders): Required<Pick<Means, 'keepSecret' | 'secretOf'>> {
  const folder = secretDir ?? join(dataDir, 'secrets');
  return {
    keepSecret: (label, secret) => keepKey(dataDir, label, secret),
    secretOf: secretReader({ variables: secretVariables(), folder }),
  };
}

/**
 * The same for assistants that reach this process over the network. They do not belong to whoever started it, so
 * references work only if the operator has set a folder for them.
 */
export function remoteSecretMeans(folders: Folders): Pick<Means, 'keepSecret' | 'secretOf'> {
  const { keepSecret, secretOf } = secretMeans(folders);
  return folders.secretDir === undefined ? { keepSecret } : { keepSecret, secretOf };
}

/** The audit log of a process, and how to close it; undefined if it is switched off. */
export function auditOf(
  { audit, dataDir }: Pick<Config, 'audit' | 'dataDir'>,
  transport: string,
  log: { warn(details: object, message: string): void },
): (Audit & Pick<AuditLog, 'settled'>) | undefined {
  if (!audit) return undefined;
  const file = openAuditLog({ dataDir, log });
  return { transport, observe: file.append, settled: file.settled };
}

/** What tools need to read the audit log: nothing, unless the operator allows it. */
export function auditMeans({ auditTool, dataDir }: Pick<Config, 'auditTool' | 'dataDir'>): Pick<Means, 'readAudit'> {
  if (!auditTool) return {};
  return {
    readAudit: (wanted, count) => findRecords(dataDir, wanted, count),
  };
}

/** What a process provides that is connected to one service: the local one, unless the settings name another. */
export function ownMeans(config: Config): Means {
  return {
    ...fileMeans(config),
    ...auditMeans(config),
    ...(config.url === undefined ? { reachesTrash: true as const } : {}),
  };
}

/**
 * What tools need to read and to write files: nothing, if the operator allows neither a folder nor a host. To read and to
 * write are two rights: whoever lets an assistant read a folder has not said that files may appear in it, and a folder for
 * exports need not be read.
 */
export function fileMeans({
  allowDirs: folders = [],
  allowHosts: hosts = [],
  exportDirs = [],
  dataDir,
}: FileFolders): Pick<Means, 'openFile' | 'findFiles' | 'exportTarget' | 'exportFolders'> {
  const allowed = { folders, dataDir };
  const read: Pick<Means, 'openFile' | 'findFiles'> = {
    async openFile(request) {
      const { isUrl } = await import('../http/download.ts');
      if (isUrl(request.path)) return (await import('./files/url-file.ts')).openUrl({ hosts }, request);
      return (await import('./files/file-documents.ts')).openDocuments(allowed, request);
    },
    findFiles: async (request) => (await import('./files/find-files.ts')).findFiles({ ...allowed, hosts }, request),
  };
  const write: Pick<Means, 'exportTarget' | 'exportFolders'> = {
    exportFolders: exportDirs,
    exportTarget: async (path) =>
      (await import('./exports/export-folders.ts')).exportTarget({ folders: exportDirs, dataDir }, path),
  };
  return {
    ...(folders.length === 0 && hosts.length === 0 ? {} : read),
    ...(exportDirs.length === 0 ? {} : write),
  };
}
