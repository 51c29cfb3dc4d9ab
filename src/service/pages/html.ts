import { createHash } from 'node:crypto';
import { visibleText } from '../../contract/visible.ts';
import { PAGE_SCRIPT } from './page-script.ts';
import { PAGE_STYLE } from './page-style.ts';

/** A page that works without a script. */
export interface Page {
  status: number;
  html: string;
  /** Beside those that every page has, or instead of them. */
  headers?: Record<string, string>;
}

/** Nothing but our style, our forms, and what `more` allows: no frame around it, no other origin. */
function policy(...more: string[]): string {
  return [
    "default-src 'none'",
    `style-src '${hashOf(PAGE_STYLE)}'`,
    ...more,
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

/** Of pages without a script. */
export const CONTENT_SECURITY_POLICY = policy();
const POLICY_WITH_SCRIPT = policy(`script-src '${hashOf(PAGE_SCRIPT)}'`, "connect-src 'self'");

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text from outside as HTML, in an element or an attribute: names are hostile. What is invisible is an escape. */
export function escaped(text: string): string {
  return visibleText(text).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

export interface PageOptions {
  status?: number;
  /** What the tab shows; default: the heading. */
  tab?: string;
  /** Tables need room. */
  isWide?: boolean;
  /** It keeps itself up to date. */
  isLive?: boolean;
}

/** A page with `heading`, which is text, over `body`, which is HTML. */
export function htmlPage(heading: string, body: string, options: PageOptions = {}): Page {
  const { status = 200, tab = heading, isWide = false, isLive = false } = options;
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>${escaped(tab)}</title><style>${PAGE_STYLE}</style></head>
<body${isWide ? ' class="wide"' : ''}><h1>${escaped(heading)}</h1>
${body}
${isLive ? `<script>${PAGE_SCRIPT}</script>` : ''}</body></html>
`;
  return { status, html, ...(isLive ? { headers: { 'content-security-policy': POLICY_WITH_SCRIPT } } : {}) };
}

export function failurePage(status: number, title: string, why: string): Page {
  return htmlPage(title, `<p>${escaped(why)}</p>`, { status });
}
