import { createHash } from 'node:crypto';
import { bytesText, counted } from '../../contract/in-words.ts';
import { stringifyJson } from '../../contract/json/json.ts';
import { OWN_QUERY } from '../../contract/own-query.ts';
import { distinctText } from '../../contract/visible.ts';
import type { Asked } from '../approvals/approval-desk.ts';
import type { WorkspaceFigures } from '../collections/collection-figures.ts';
import type { EndedQuery, RunningQuery } from '../queries/query-log.ts';
import { escaped, htmlPage, type Page } from './html.ts';
import type { CallRecord, Overview } from './overview.ts';

const TEXT_CHARS = 160;
/** Rows shown at first of tables that grow daily; the others can be unfolded. */
const ROWS_SHOWN = 10;

/** The page of the service. `tokenOf` makes the proof that a form was made for this browser and this query. */
export function overviewPage(seen: Overview, tokenOf: (queryId: string) => string): Page {
  const { questions, running, recent, workspaces, calls, now } = seen;
  const waiting = questions.length;
  const news =
    waiting === 0
      ? ''
      : `${counted(waiting, 'questions')} of an assistant ${waiting === 1 ? 'waits' : 'wait'} for you.`;
  const body = `<p id="trouble" role="alert" hidden></p>
<p id="news" class="unseen" role="status"></p>
<main data-news="${escaped(news)}">
${live('questions', questionList(questions, now))}
${live('service', facts(seen))}
${section('running', 'Running queries', runningTable(running, tokenOf, now))}
${section('collections', 'Collections', workspaces.map(workspaceTable).join('\n') || none('There is no workspace.'))}
${section('queries', 'Recent queries', recentTable(recent, now))}
${section('calls', 'Recent tool calls', callTable(calls, now))}
</main>
<noscript><p><a class="button" href="/">Look again</a></p></noscript>
<p class="note">Only browsers that were paired on this machine see this page. <code>colloquy approve --forget-browsers</code> ends that.</p>`;
  const tab = `${waiting === 0 ? '' : `(${waiting}) `}Colloquy`;
  return htmlPage('Colloquy on this machine', body, { tab, isWide: true, isLive: true });
}

function section(id: string, heading: string, content: string): string {
  return `<section aria-labelledby="${id}-h"><h2 id="${id}-h" tabindex="-1">${heading}</h2>${live(id, content)}</section>`;
}

/** A part of the page that the script replaces when it has changed. */
function live(id: string, content: string): string {
  return `<div id="${id}" data-live>${content}</div>`;
}

function none(text: string): string {
  return `<p class="none">${escaped(text)}</p>`;
}

/** A name that must not be mistaken for another. */
function name(text: string): string {
  return `<bdi>${escaped(distinctText(text))}</bdi>`;
}

interface Table {
  id: string;
  /** HTML. */
  caption: string;
  /** Each with the CSS class of its cells. */
  columns: readonly (readonly [title: string, className: string])[];
  /** Rows of HTML; the first cell is the heading of its row. */
  rows: readonly (readonly string[])[];
}

function table({ id, caption, columns, rows }: Table): string {
  const classOf = (index: number) => (columns[index]?.[1] ? ` class="${columns[index]?.[1]}"` : '');
  const head = columns.map(([title], index) => `<th scope="col"${classOf(index)}>${title}</th>`).join('');
  const lines = rows.map((cells) => {
    const shown = cells.map((cell, index) =>
      index === 0 ? `<th scope="row"${classOf(0)}>${cell}</th>` : `<td${classOf(index)}>${cell}</td>`,
    );
    return `<tr>${shown.join('')}</tr>`;
  });
  return `<div class="scroll" id="${id}-scroll" role="region" aria-labelledby="${id}-caption" tabindex="0"><table>
<caption id="${id}-caption">${caption}</caption><thead><tr>${head}</tr></thead><tbody>
${lines.join('\n')}
</tbody></table></div>`;
}

/** A table of which only the first rows are unfolded. */
function foldedTable(whole: Table): string {
  const rest = whole.rows.slice(ROWS_SHOWN);
  if (rest.length === 0) return table(whole);
  const more = table({ ...whole, id: `${whole.id}-more`, caption: 'Those before', rows: rest });
  return (
    table({ ...whole, rows: whole.rows.slice(0, ROWS_SHOWN) }) + folded(`${whole.id}-rest`, `${rest.length} more`, more)
  );
}

function folded(id: string, title: string, content: string): string {
  return `<details class="more" id="${id}"><summary id="${id}-title">${title}</summary>${content}</details>`;
}

function questionList(questions: readonly Asked[], now: number): string {
  if (questions.length === 0) return '';
  const items = questions.map(({ message, tool, asker, expiresAt }) => {
    const [first = ''] = message.split('\n', 1);
    const left = Math.max(1, Math.ceil((expiresAt - now) / 60_000));
    return `<li><p>${escaped(short(first))}<br><span class="note"><code>${escaped(tool)}</code> ${asker.client === undefined ? '' : `by ${name(asker.client)} `}for ${name(asker.email)}, ${counted(left, 'minutes')} left</span></p></li>`;
  });
  return `<section class="alert" aria-labelledby="questions-h"><h2 id="questions-h" tabindex="-1">Waiting for your answer</h2><ul class="questions">${items.join('')}</ul>
<p><a class="button small" id="answer" href="/approve">Read and answer by its code</a></p></section>`;
}

function runningTable(running: readonly RunningQuery[], tokenOf: (id: string) => string, now: number): string {
  if (running.length === 0) return none('No query runs.');
  const rows = running.map(({ id, sql, caller, startedAt }) => [
    span(now - startedAt),
    `<form method="post" action="/stop"><input type="hidden" name="query" value="${id}"><input type="hidden" name="token" value="${escaped(tokenOf(id))}">
<button class="small stop" id="stop-${id}" aria-label="Stop this query" aria-describedby="sql-${id}">Stop</button></form>`,
    whoText(caller),
    `<div id="sql-${id}">${unfolded(`running-${id}`, sql)}</div>`,
  ]);
  const columns = [
    ['For', 't'],
    ['<span class="unseen">Stop</span>', 't'],
    ['Who', 'w'],
    ['SQL', 'sql'],
  ] as const;
  return table({
    id: 'running-table',
    caption: `${counted(running.length, 'queries')}, running or waiting for a turn`,
    columns,
    rows,
  });
}

function workspaceTable({ workspace, collections, left }: WorkspaceFigures, index: number): string {
  if (collections.length === 0 && left === 0)
    return `<p class="none">Workspace ${name(workspace)} has no collection.</p>`;
  const sum = (of: 'documents' | 'bytes') => collections.reduce((total, one) => total + (one[of] ?? 0), 0);
  const rows = collections.map((one) => [
    name(one.name),
    one.documents === null ? '…' : one.documents.toLocaleString('en-US'),
    one.bytes === null ? '…' : bytesText(one.bytes),
  ]);
  const more = left === 0 ? '' : `, and ${left.toLocaleString('en-US')} more that are not shown`;
  const caption = `Workspace ${name(workspace)}: ${counted(collections.length, 'collections')}${more}, ${counted(sum('documents'), 'documents')}, about ${bytesText(sum('bytes'))}`;
  const columns = [
    ['Collection', ''],
    ['Documents', 'n'],
    ['Size', 'n'],
  ] as const;
  return table({ id: `workspace-${index}`, caption, columns, rows });
}

function recentTable(recent: readonly EndedQuery[], now: number): string {
  if (recent.length === 0) return none('No query has ended since the service started.');
  const isOwn = ({ sql }: EndedQuery) => sql.startsWith(OWN_QUERY);
  const rowOf = ({ id, sql, caller, startedAt, ms, rows: count, outcome }: EndedQuery) => [
    ago(startedAt + ms, now),
    outcomeTag(outcome),
    span(ms),
    count === undefined ? '' : count.toLocaleString('en-US'),
    whoText(caller),
    unfolded(`query-${id}`, sql),
  ];
  const columns = [
    ['Ended', 't'],
    ['Outcome', ''],
    ['Took', 'n'],
    ['Rows', 'n'],
    ['Who', 'w'],
    ['SQL', 'sql'],
  ] as const;
  const written = recent.filter((one) => !isOwn(one));
  const own = recent.filter(isOwn);
  const caption = 'The newest first, of this run of the service';
  return [
    written.length === 0 ? '' : foldedTable({ id: 'recent-table', caption, columns, rows: written.map(rowOf) }),
    own.length === 0
      ? ''
      : folded(
          'own-queries',
          `${counted(own.length, 'queries')} that Colloquy ran by itself, to say what would be deleted`,
          table({ id: 'own-table', caption, columns, rows: own.map(rowOf) }),
        ),
  ].join('');
}

function callTable(calls: readonly CallRecord[] | undefined, now: number): string {
  if (calls === undefined) return none('The audit log cannot be read here.');
  if (calls.length === 0) return none('No call of a tool is on record.');
  const rows = calls.map((record) => {
    const { duration_ms: ms, rows: count, client, arguments: given } = record;
    const key = createHash('sha256').update(JSON.stringify(record)).digest('hex').slice(0, 12);
    const field = (of: string) => short(plain(record[of]));
    const who = typeof client === 'object' && client !== null && 'name' in client ? short(plain(client.name)) : '';
    return [
      ago(Date.parse(plain(record['time'])), now),
      `<code>${escaped(field('tool'))}</code>`,
      outcomeTag(field('outcome')),
      escaped(field('guard')),
      typeof ms === 'number' ? span(ms) : '',
      typeof count === 'number' ? count.toLocaleString('en-US') : '',
      name(who || field('transport')),
      unfolded(`call-${key}`, stringifyJson(given ?? {})),
    ];
  });
  const columns = [
    ['Called', 't'],
    ['Tool', 'w'],
    ['Outcome', ''],
    ['Guard', 'w'],
    ['Took', 'n'],
    ['Rows', 'n'],
    ['Client', 'w'],
    ['Arguments', 'sql'],
  ] as const;
  return foldedTable({
    id: 'calls-table',
    caption: 'The newest first, from the audit log, without secrets. Guard: what became of the question to a person',
    columns,
    rows,
  });
}

function facts({ version, pid, folder, startedAt, addresses, size, memoryBytes, diskBytes, now }: Overview): string {
  const shown: [string, string][] = [
    ['Version', `${escaped(version)}, process ${pid}`],
    ['Running for', span(now - startedAt)],
    ['Data folder', `<code>${escaped(folder)}</code>`],
    ['Database on disk', diskBytes === null ? 'not readable' : bytesText(diskBytes)],
    ['Listens at', addresses.map((address) => `<code>${escaped(address)}</code>`).join('<br>')],
    [
      'Virtual instance',
      `${escaped(size.name)}: ${counted(size.threads, 'threads')}, ${bytesText(size.memoryBytes)} of memory at most`,
    ],
    ['Memory of the process', bytesText(memoryBytes)],
  ];
  const list = `<dl>${shown.map(([term, value]) => `<div><dt>${term}</dt><dd>${value}</dd></div>`).join('')}</dl>`;
  const line = `This service: version ${escaped(version)}, running for ${span(now - startedAt)}, ${bytesText(memoryBytes)} of memory, in ${escaped(folder)}`;
  return `<section>${folded('service-facts', line, list)}</section>`;
}

function whoText({ email, keyName }: RunningQuery['caller']): string {
  return `${name(email)}<br><span class="note">key ${name(keyName)}</span>`;
}

/** The beginning of a text, which unfolds to all of it if it is longer. */
function unfolded(id: string, text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  if (line === text && line.length <= TEXT_CHARS) return `<code>${escaped(line)}</code>`;
  return `<details id="${id}"><summary><code>${escaped(short(line))}</code></summary><pre>${escaped(text)}</pre></details>`;
}

/** A field of a record that anybody may have written. */
function plain(value: unknown): string {
  return value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
}

function short(text: string): string {
  return text.length <= TEXT_CHARS ? text : `${text.slice(0, TEXT_CHARS)}…`;
}

function outcomeTag(outcome: string): string {
  const tone =
    outcome === 'ok'
      ? 'ok'
      : outcome === 'asked' || outcome === 'query_stopped' || outcome === 'aborted'
        ? 'warm'
        : 'bad';
  return `<span class="tag ${tone}">${escaped(short(outcome))}</span>`;
}

/** A time relative to now; the exact time, in UTC, appears on hovering. */
function ago(ms: number, now: number): string {
  if (!Number.isFinite(ms)) return '';
  const iso = new Date(ms).toISOString();
  const gone = now - ms;
  return `<time datetime="${iso}" title="${iso}">${gone < 60_000 ? 'just now' : `${span(gone)} ago`}</time>`;
}

/** A duration, rounded to what matters. */
function span(ms: number): string {
  if (ms < 1_000) return `${Math.round(Math.max(0, ms))} ms`;
  const secs = ms / 1_000;
  if (secs < 60) return `${secs < 10 ? secs.toFixed(1) : Math.floor(secs)} s`;
  if (secs < 3_600) return `${Math.floor(secs / 60)} min`;
  if (secs < 172_800) return `${Math.floor(secs / 3_600)} h`;
  return `${Math.floor(secs / 86_400)} days`;
}
