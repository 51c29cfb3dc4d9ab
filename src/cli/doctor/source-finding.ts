import { counted } from '../../contract/in-words.ts';
import { INTEGRATION_KINDS } from '../../contract/integrations.ts';
import type { Client } from '../../http/client.ts';
import type { Config } from '../../settings.ts';
import type { Finding } from './finding.ts';

const NAMED_MAX = 5;

/** How the sources of collections are; undefined without any. */
export async function sourceFinding(
  client: Pick<Client, 'listCollections'>,
  config: Pick<Config, 'url' | 'sources'>,
): Promise<Finding | undefined> {
  const name = 'sources';
  const all = (await client.listCollections({})).flatMap(({ workspace, name: collection, sources }) =>
    (sources ?? [])
      .filter((source) => INTEGRATION_KINDS.some((kind) => (source[kind] ?? null) !== null))
      .map(({ status }) => ({ collection: `${workspace}.${collection}`, status })),
  );
  if (all.length === 0) return undefined;
  const ill = all.filter(({ status }) => status?.state === 'ERROR' || status?.state === 'WAITING');
  const idle =
    config.url !== undefined
      ? ''
      : config.sources === 'rest'
        ? '; they rest while no chat is there (--sources rest)'
        : '; they keep the local service running (--sources)';
  const detail = `${counted(all.length, 'sources')} ${all.length === 1 ? 'is' : 'are'} read${idle}`;
  if (ill.length === 0) return { name, state: 'ok', detail };
  const named = ill
    .slice(0, NAMED_MAX)
    .map(({ collection, status }) => `${collection}: ${status?.message ?? status?.state}`);
  const more = ill.length > named.length ? [`${ill.length - named.length} more`] : [];
  return {
    name,
    state: 'warn',
    detail: `${detail}; ${ill.length} cannot be read`,
    remedy: [...named, ...more].join('; '),
  };
}
