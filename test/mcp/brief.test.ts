import { describe, expect, it } from 'vitest';
import { briefly, brieflyWritten } from '../../src/mcp/brief.ts';
import { fence } from '../../src/mcp/fence.ts';
import { presentRecord } from '../../src/mcp/results.ts';

describe('briefly()', () => {
  it('leaves out figures of the service that are zero, and the organization of users', () => {
    const stats = { doc_count: 0, total_size: 0, range_index_size: 0, row_index_size: 3 };
    expect(briefly({ name: 'a', stats })).toEqual({
      name: 'a',
      stats: { doc_count: 0, total_size: 0, row_index_size: 3 },
    });
    const user = { email: 'a@b.c', roles: ['admin'], orgs: [{ id: 'o' }], org_memberships: [{}] };
    expect(briefly({ items: [user], total: 1 })).toEqual({ items: [{ email: 'a@b.c', roles: ['admin'] }], total: 1 });
    expect(briefly({ name: 'x', orgs: [1] })).toEqual({ name: 'x', orgs: [1] });
  });

  it('keeps every value that people stored', () => {
    const record = {
      default_parameters: [
        { name: 'x', type: 'int', value: 0 },
        { name: 'y', value: '' },
      ],
      arguments: {
        skip: 0,
        dry_run: false,
        stats: { range_index_size: 0 },
        data: [{ balance: 0, orgs: [], note: '' }],
      },
      format_params: { csv: { firstLineAsColumnNames: false } },
    };
    expect(briefly(record)).toEqual(record);
    expect(briefly({ items: [record] })).toEqual({ items: [record] });
  });

  it('leaves out long texts that were just sent, and none else', () => {
    const query = `SELECT ${'a, '.repeat(20)} b FROM t`;
    const answer = { name: 'l', sql: { query, default_parameters: [] }, description: query.slice(1) };
    expect(briefly(answer, { of: { query } })).toEqual({ ...answer, sql: { default_parameters: [] } });
    expect(briefly({ name: 'short' }, { name: 'short' })).toEqual({ name: 'short' });
    const short = { query: 'SELECT :n', default_parameters: [{ name: 'n', type: 'int', value: 1 }] };
    expect(briefly({ name: 'l', created_at: 'now', sql: short }, { sql: short })).toEqual({ name: 'l' });
    expect(briefly({ name: 'l', created_at: 'now', sql: short })).toEqual({
      name: 'l',
      created_at: 'now',
      sql: short,
    });
  });

  it('names the version that a tag was pointed at', () => {
    const answer = { tag_name: 'production', version: { name: 'l', version: 'abc', state: 'ACTIVE' } };
    expect(briefly(answer, { tag_name: 'production' })).toEqual({ tag_name: 'production', version: 'abc' });
    expect(briefly(answer)).toEqual(answer);
  });

  it('names of written documents those that were not sent', () => {
    const written = { counts: { ADDED: 2 }, ids: ['a', 'made'], last_offset: '7' };
    expect(brieflyWritten(written, new Set(['a']))).toEqual({ counts: { ADDED: 2 }, ids: ['made'] });
    expect(brieflyWritten(written, new Set(['a', 'made']))).toEqual({ counts: { ADDED: 2 } });
  });
});

it('programs get all of a record, and a model what is brief', () => {
  const shown = fence(presentRecord({ name: 'a', stats: { doc_count: 0, range_index_size: 0 } }));
  expect(shown.structuredContent['stats']).toEqual({ doc_count: 0, range_index_size: 0 });
  expect(shown.content[0].text).toContain('\n"stats":{"doc_count":0}\n');
});
