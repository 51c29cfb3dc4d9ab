/**
 * Keeps the overview up to date: fetches the same page again and replaces its live parts if they differ, without
 * disturbing the reader (selected text, focus, what was unfolded). Without it the page has to be reloaded by hand.
 */
export const PAGE_SCRIPT = `
(() => {
  'use strict';
  const EVERY_MS = 2000, HIDDEN_MS = 15000;
  const byId = (id) => document.getElementById(id);
  let timer, told = '';

  function tell(text) {
    if (text === told) return;
    told = text;
    byId('news').textContent = text;
  }

  function trouble(text) {
    const place = byId('trouble');
    if (place.textContent !== text) place.textContent = text;
    place.hidden = text === '';
    document.body.classList.toggle('stale', text !== '');
  }

  function isBeingRead(part) {
    const selection = getSelection();
    return !selection.isCollapsed && part.contains(selection.anchorNode);
  }

  function replace(part, next) {
    if (part.innerHTML === next.innerHTML || isBeingRead(part)) return;
    const focused = part.contains(document.activeElement) ? document.activeElement.id : '';
    const open = [...part.querySelectorAll('details[open]')].map((one) => one.id);
    const scrolled = [...part.querySelectorAll('.scroll')].map((one) => [one.id, one.scrollLeft]);
    part.replaceChildren(...next.childNodes);
    for (const id of open) byId(id)?.setAttribute('open', '');
    for (const [id, left] of scrolled) if (byId(id)) byId(id).scrollLeft = left;
    const heading = part.querySelector('h2') ?? part.closest('section')?.querySelector('h2');
    if (focused) (byId(focused) ?? heading)?.focus({ preventScroll: true });
  }

  async function look() {
    clearTimeout(timer);
    try {
      const answer = await fetch('/', { cache: 'no-store', redirect: 'error' });
      if (answer.status === 403) return trouble('This browser is not paired any more. "colloquy open" pairs it again.');
      if (!answer.ok) throw new Error(String(answer.status));
      const next = new DOMParser().parseFromString(await answer.text(), 'text/html');
      for (const part of document.querySelectorAll('[data-live]')) {
        const other = next.getElementById(part.id);
        if (other) replace(part, other);
      }
      document.title = next.title;
      trouble('');
      tell(next.querySelector('main').dataset.news);
    } catch {
      trouble('The service does not answer: it was stopped, or has left because nobody used it. "colloquy open" shows it again.');
    }
    timer = setTimeout(look, document.hidden ? HIDDEN_MS : EVERY_MS);
  }

  document.addEventListener('visibilitychange', () => { if (!document.hidden) look(); });
  told = document.querySelector('main').dataset.news;
  timer = setTimeout(look, EVERY_MS);
})();
`;
