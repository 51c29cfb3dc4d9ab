import { resolve } from 'node:path';
import { it } from 'vitest';
import { COMPAT_FUNCTIONS } from '../../src/engine/duckdb/sql/compat.ts';
import { expectGenerated } from './parts.ts';

const PAGE = resolve(import.meta.dirname, '../../src/mcp/docs/functions.md');

const HEAD = `# Functions that people bring along

SQL here is DuckDB's. These forms of other services work, too; \`expression\` → result. The aggregates are over rows (n, s): (1, 'a'), (2, 'b'), (3, 'b').

## Forms
\`SELECT * EXCEPT(a)\`; \`FROM t, UNNEST(t.tags) AS u(x)\`; \`UNNEST(t.a AS x, t.b AS y) u\`; \`x IS UNDEFINED\`; \`WITH ORDINALITY\`; a last \`,\` or \`;\`; names in backticks; aliases that are words of SQL (\`count(*) year\`); \`EXTRACT(DATE FROM t)\` (TIME, DATETIME, ISOWEEK, too; DAYOFWEEK is 1 on Sunday, DOW 0); \`TABLESAMPLE BERNOULLI(10)\`; \`HINT(…)\`, ignored; \`PIVOT t ON x USING sum(y)\`; \`SELECT *, 1 AS x\` has one x; \`GROUP BY\` the name of a path's end; columns without a name are \`?count\`, \`?field0\`. Not to be had: \`*EXCEPT(a)\` without a space, \`CAST(x AS object)\` (use JSON), \`TABLE('t')\` and \`FIELD('x')\` (write the name), \`REDUCE\`, text search, \`OPTION(…)\`, scripts.
`;

/** A line for each function of which there is something to say; the others of a group share one. */
function page(): string {
  const parts = [...groupsOf()].map(([group, functions]) => {
    const listed = functions
      .filter((one) => one.listedWith === undefined)
      .map(({ name, example, gives, note }) => {
        const others = functions.filter((other) => other.listedWith === name).map((other) => other.name);
        return { example, gives, note, others: others.join(', ') };
      });
    const noted = listed.flatMap(({ example, gives, note, others }) => {
      if (note === undefined) return [];
      return [`- \`${example}\` → ${JSON.stringify(gives)}. ${note}${others === '' ? '' : ` Also ${others}.`}`];
    });
    const plain = listed.flatMap(({ example, note, others }) => {
      return note === undefined ? [`\`${example}\`${others === '' ? '' : ` (also ${others})`}`] : [];
    });
    const lines = plain.length === 0 ? noted : [...noted, `- ${plain.join('; ')}`];
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
