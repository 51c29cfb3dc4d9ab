import { expect, it } from 'vitest';
import { loadingHere } from './load-here.ts';

const { call, rowsOf, write } = loadingHere();

it('years of two digits that would be in the future are told with what makes them days of the past', async () => {
  const births = Array.from({ length: 60 }, (_, at) => `${10 + (at % 19)}.${10 + (at % 3)}.${30 + at}`);
  write('births.csv', `id,born\n${births.map((one, at) => `${at},${one}`).join('\n')}\n`);
  const note = String((await call('load_file', { path: 'births.csv' })).data['warnings']);
  const sql = /CASE WHEN .* END/.exec(note)?.[0];
  expect(await rowsOf(`SELECT year(min(${sql})), year(max(${sql})) FROM births`)).toEqual([[1930, 1989]]);
  write('late.csv', 'id,day\n1,13.01.20\n2,14.02.21\n');
  const late = String((await call('load_file', { path: 'late.csv' })).data['warnings']);
  expect(late).toContain('%y');
  expect(late).not.toContain('INTERVAL');
});
