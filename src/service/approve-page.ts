import { createHash } from 'node:crypto';
import type { Asked } from './approval-desk.ts';

/** A page that needs no script. Every text in it that came from outside is escaped: names are hostile. */
export interface Page {
  status: number;
  html: string;
}

const STYLE = `
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{max-width:40rem;margin:3rem auto;padding:0 1.25rem}
h1{font-size:1.25rem}
.question{white-space:pre-wrap;overflow-wrap:anywhere;padding:1rem;border:1px solid GrayText;border-radius:.5rem}
.note{color:GrayText;font-size:.9rem}
.wrong{border-left:4px solid #c62828;padding-left:.75rem}
label{display:block;margin:1rem 0 .25rem}
input[type=text]{font:inherit;width:100%;padding:.5rem;box-sizing:border-box}
code{overflow-wrap:anywhere}
button{font:inherit;padding:.5rem 1.25rem;margin:1rem .75rem 0 0;border-radius:.4rem;border:1px solid GrayText;cursor:pointer}
.go{background:#b3261e;border-color:#b3261e;color:#fff}
`;

/** Nothing but this style and this form: no script, no frame around it, no other origin. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

function page(status: number, title: string, body: string): Page {
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex"><title>${escaped(title)}</title><style>${STYLE}</style></head>
<body><h1>${escaped(title)}</h1>
${body}
</body></html>
`;
  return { status, html };
}

/** The question with its form; `wrong` says why an earlier answer did not count. */
export function questionPage(asked: Asked, token: string, wrong?: string): Page {
  const { code, tool, message, typedName, asker, expiresAt } = asked;
  const name =
    typedName === undefined
      ? ''
      : `<label for="name">To approve, type <code>${escaped(typedName)}</code></label>
<input type="text" id="name" name="name" required autocomplete="off" autocapitalize="off" spellcheck="false">`;
  return page(
    wrong === undefined ? 200 : 422,
    'An assistant asks for your approval',
    `${wrong === undefined ? '' : `<p class="wrong">${escaped(wrong)}</p>`}
<p class="question">${escaped(message)}</p>
<form method="post" action="/approve/${encodeURIComponent(code)}">
<input type="hidden" name="token" value="${escaped(token)}">
${name}
<button class="go" name="decision" value="approve">Approve</button>
<button name="decision" value="decline" formnovalidate>Decline</button>
</form>
<p class="note">Tool <code>${escaped(tool)}</code>, called for ${escaped(asker.email)}. Code ${escaped(code)}, until
${new Date(expiresAt).toISOString().slice(0, 16).replace('T', ' ')} UTC. Nothing has been changed so far.</p>`,
  );
}

export function answeredPage({ status, tool }: Asked): Page {
  if (status === 'declined') return page(200, 'Declined', '<p>Nothing was changed. You can close this page.</p>');
  return page(
    200,
    'Approved',
    `<p>Tell the assistant to go on: <code>${escaped(tool)}</code> runs when it calls again with the same arguments, once,
within ten minutes. You can close this page.</p>`,
  );
}

export function failurePage(status: number, title: string, why: string): Page {
  return page(status, title, `<p>${escaped(why)}</p>`);
}
