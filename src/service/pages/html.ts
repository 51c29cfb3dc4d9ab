import { createHash } from 'node:crypto';
import { visibleText } from '../../contract/visible.ts';
import { PAGE_SCRIPT } from './page-script.ts';
import { PAGE_STYLE } from './page-style.ts';

/** A page that works without a script. */
export interface Page {
  status: number;
  html: string;
  /** In addition to the headers that every page has, or replacing them. */
  headers?: Record<string, string>;
}

/** Allows nothing but our style, our forms, and what `more` adds: no framing, no other origin. */
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

/** For pages without a script. */
export const CONTENT_SECURITY_POLICY = policy();
const POLICY_WITH_SCRIPT = policy(`script-src '${hashOf(PAGE_SCRIPT)}'`, "connect-src 'self'");

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text from outside as HTML, in an element or attribute: names may be hostile. Invisible characters become escapes. */
export function escaped(text: string): string {
  return visibleText(text).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

export interface PageOptions {
  status?: number;
  /** Title of the browser tab; default: the heading. */
  tab?: string;
  /** Wide enough for tables. */
  isWide?: boolean;
  /** The page keeps itself up to date. */
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
