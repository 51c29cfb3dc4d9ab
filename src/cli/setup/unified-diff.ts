import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';

const CONTEXT = 3;

/** The unified diff between two texts; undefined stands for a file that does not exist. Empty if they are equal. */
export function unifiedDiff(path: string, before: string | undefined, after: string | undefined): string {
  if ((before ?? '') === (after ?? '')) return '';
  const [from, to] = [before, after].map((text) => (text === undefined ? '/dev/null' : path));
  const options = { context: CONTEXT, headerOptions: FILE_HEADERS_ONLY };
  const patch = createTwoFilesPatch(from ?? '', to ?? '', before ?? '', after ?? '', undefined, undefined, options);
  return patch.replace(/\n$/, '');
}
