import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';

const CONTEXT = 3;
/** A diff of more changed lines than this shows the whole text as changed. */
const CHANGES_MAX = 400;

/** The unified diff between two texts; undefined stands for a file that does not exist. Empty if they are equal. */
export function unifiedDiff(path: string, before: string | undefined, after: string | undefined): string {
  if ((before ?? '') === (after ?? '')) return '';
  const [from, to] = [before, after].map((text) => (text === undefined ? '/dev/null' : path));
  const patch = (maxEditLength: number) =>
    createTwoFilesPatch(from ?? '', to ?? '', before ?? '', after ?? '', undefined, undefined, {
      context: CONTEXT,
      headerOptions: FILE_HEADERS_ONLY,
      maxEditLength,
    });
  return (patch(CHANGES_MAX) ?? '').trimEnd();
}
