import { messageOf } from '../../contract/text.ts';
import { type CatalogLook, lookAtCatalog, lookAtStore } from '../../engine/duckdb/lake/look.ts';
import type { LakeOptions } from '../../engine/duckdb/open-lake.ts';
import type { Finding } from './finding.ts';

/** Checks what a node of a lake needs, and what it could do without; changes nothing. */
export async function lakeFindings(lake: LakeOptions): Promise<Finding[]> {
  return [await found('lake', () => catalogFinding(lake)), await found('store', () => filesFinding(lake))];
}

async function found(name: string, look: () => Promise<Omit<Finding, 'name'>>): Promise<Finding> {
  try {
    return { name, ...(await look()) };
  } catch (error) {
    const detail = messageOf(error);
    return { name, state: 'fail', detail, remedy: 'Correct that; "colloquy serve" cannot start without it.' };
  }
}

async function catalogFinding(lake: LakeOptions): Promise<Omit<Finding, 'name'>> {
  const look = await lookAtCatalog(lake);
  const made = look.isMade ? 'has a lake' : 'has no lake yet: the first node makes it';
  const detail = `PostgreSQL ${look.version} at ${look.shown} ${made}`;
  const remedies = [rightsOf(look), transportOf(look)].filter((one) => one !== undefined);
  if (remedies.length === 0) return { state: 'ok', detail };
  return { state: 'warn', detail, remedy: remedies.join(' ') };
}

function rightsOf({ user, excess }: CatalogLook): string | undefined {
  if (excess.length === 0) return undefined;
  return `The user "${user}" may more than a node needs (${excess.join(', ')}): let it own the database, and nothing else.`;
}

function transportOf({ isEncrypted, isHere }: CatalogLook): string | undefined {
  if (isEncrypted || isHere) return undefined;
  return 'The connection is not encrypted: append ?sslmode=verify-full to --lake.';
}

async function filesFinding(lake: LakeOptions): Promise<Omit<Finding, 'name'>> {
  const count = await lookAtStore(lake);
  return { state: 'ok', detail: `${count} files at ${lake.data}, with the engine's extensions` };
}
