import type { CallContext } from '../context.ts';
import { isNaming, lambdasNaming, tagsOf, versionOf } from './lambda-records.ts';

/** Lambdas whose SQL is bound to find out: each takes some milliseconds. */
const LAMBDAS_MAX = 50;
const SHOWN_MAX = 10;

/**
 * Warnings of the Query Lambdas that read a collection or alias, `workspace.name`, and whose SQL does not bind now: of each the
 * versions that have a tag, `latest` included.
 */
export async function brokenLambdas(
  { catalog, lambdaStates }: Pick<CallContext, 'catalog' | 'lambdaStates'>,
  name: string,
): Promise<string[]> {
  const lambdas = lambdasNaming(catalog, [name]);
  const said: string[] = [];
  for (const lambda of lambdas.slice(0, LAMBDAS_MAX)) {
    for (const version of new Set(tagsOf(lambda).map((tag) => tag.version))) {
      const record = versionOf(catalog, lambda, version);
      const why = isNaming(record, name) ? await lambdaStates.unboundOf(record) : null;
      const tags = tagsOf(lambda).flatMap((tag) => (tag.version === version ? [tag.name] : []));
      if (why !== null)
        said.push(`Query Lambda "${lambda.workspace}.${lambda.name}" (${tags.join(', ')}) fails from now on: ${why}`);
    }
  }
  const more = said.length - SHOWN_MAX;
  const unseen = lambdas.length - LAMBDAS_MAX;
  return [
    ...said.slice(0, SHOWN_MAX),
    ...(more > 0 ? [`${more} more versions of Query Lambdas fail from now on.`] : []),
    ...(unseen > 0 ? [`${unseen} more Query Lambdas read it, which were not tried.`] : []),
  ];
}
