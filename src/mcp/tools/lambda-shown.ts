import type { AnyOperation } from '../../contract/contract.ts';
import type { LambdaTag, QueryLambdaVersion } from '../../contract/lambdas.ts';
import { tagsByVersion } from './lambda-lookup.ts';
import type { Arguments } from './relations.ts';
import type { ToolContext } from './tool.ts';

/**
 * What an assistant sees of the result of an operation on lambdas: tags without the SQL and the figures of their versions, which are
 * long and have a tool of their own, and versions with their tags. All other results as they are.
 */
export async function lambdasShown(
  operation: AnyOperation,
  { client, signal }: Pick<ToolContext, 'client' | 'signal'>,
  { workspace, queryLambda }: Arguments,
  told: unknown,
): Promise<unknown> {
  if (operation === 'tagLambdaVersion') return brief(told as LambdaTag);
  if (operation === 'listLambdaTags') return (told as LambdaTag[]).map(brief);
  if (operation !== 'listLambdaVersions') return told;
  const place = { workspace: String(workspace), queryLambda: String(queryLambda) };
  const tags = tagsByVersion(await client.listLambdaTags(place, { signal }).catch(() => []));
  return (told as QueryLambdaVersion[]).map((one) => {
    const own = tags.get(one.version ?? '');
    return own === undefined ? one : { ...one, tags: own };
  });
}

function brief({ version, ...tag }: LambdaTag) {
  const { sql: _, stats: __, ...rest } = version ?? {};
  return { ...tag, version: rest };
}
