import type { FieldNews } from '../../engine/engine.ts';

/** The news of the steps of one load as those of one write. */
export function joinNews(news: readonly FieldNews[]): FieldNews[] {
  if (news.length < 2) return [...news];
  const changes = new Map<string, FieldNews['changes'][number]>();
  const strays = new Map<string, FieldNews['strays'][number]>();
  const spellings = new Map<string, FieldNews['spellings'][number]>();
  for (const one of news) {
    for (const change of one.changes) {
      const before = changes.get(change.path)?.before ?? change.before;
      changes.set(change.path, { ...change, before });
    }
    for (const stray of one.strays) {
      const known = strays.get(stray.path);
      strays.set(
        stray.path,
        known === undefined ? { ...stray } : { ...known, type: stray.type, count: known.count + stray.count },
      );
    }
    for (const spelling of one.spellings) spellings.set(spelling.field, spelling);
  }
  return [
    {
      changed: Math.max(changes.size, ...news.map(({ changed }) => changed)),
      changes: [...changes.values()],
      strayed: Math.max(strays.size, ...news.map(({ strayed }) => strayed)),
      strays: [...strays.values()],
      spellings: [...spellings.values()],
    },
  ];
}
