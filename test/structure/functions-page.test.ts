import { resolve } from 'node:path';
import { it } from 'vitest';
import { COMPAT_FUNCTIONS } from '../../src/engine/duckdb/sql/compat.ts';
import { expectGenerated } from './parts.ts';

const PAGE = resolve(import.meta.dirname, '../../src/mcp/docs/functions.md');

const HEAD = `# Functions that people bring along

SQL here is DuckDB's. These names and forms of other SQL services work as well; \`expression\` → what it gives. The aggregates are over rows (n, s): (1, 'a'), (2, 'b'), (3, 'b').

## Forms
\`SELECT * EXCEPT(a)\`; \`FROM t, UNNEST(t.tags) AS u(x)\`; \`UNNEST(t.tags) x\`; \`UNNEST(t.a AS x, t.b AS y) u\`; \`x IS UNDEFINED\`; \`WITH ORDINALITY\`; a trailing comma in the select list; a trailing \`;\`; names in backticks; \`LIMIT n OFFSET m\`. Not to be had: \`*EXCEPT(a)\` without a space, \`CAST(x AS object)\` (use JSON), \`REDUCE\` (grows without bound).
`;

/** One line for each function; functions whose own examples would say nothing new share a line. */
function page(): string {
  const parts = [...groupsOf()].map(([group, functions]) => {
    const lines = functions
      .filter((one) => one.listedWith === undefined)
      .map(({ name, example, gives, note }) => {
        const others = functions.filter((other) => other.listedWith === name).map((other) => other.name);
        const also = others.length > 0 ? `${note === undefined ? '.' : ''} Likewise ${others.join(', ')}.` : '';
        return `- \`${example}\` → ${JSON.stringify(gives)}${note === undefined ? '' : `. ${note}`}${also}`;
      });
    return `## ${group}\n${lines.join('\n')}\n`;
  });
  return [HEAD, ...parts].join('\n');
}

function groupsOf() {
  const groups = new Map<string, (typeof COMPAT_FUNCTIONS)[number][]>();
  for (const one of COMPAT_FUNCTIONS) groups.set(one.group, [...(groups.get(one.group) ?? []), one]);
  return groups;
}

it('the page of functions is as they are in the code', () => {
  expectGenerated(PAGE, page());
});
