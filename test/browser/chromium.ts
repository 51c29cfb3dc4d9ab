import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';

/** The browser that the tests drive. */
const EXECUTABLE = process.env['COLLOQUY_CHROMIUM'] ?? '/usr/bin/chromium';

/** Folder for screenshots for a person to look at; if unset, none are taken. */
const PICTURES = process.env['COLLOQUY_SCREENSHOTS'];

/** Keeps the browser from making requests of its own: no updates, no sync, no first-run pages. */
const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/**
 * Starts Chromium with a new profile, which is removed when the browser is closed. Rejects, saying what to do, if there
 * is no Chromium.
 */
export async function launch(): Promise<Browser> {
  if (!existsSync(EXECUTABLE)) {
    throw new Error(
      `There is no Chromium at ${EXECUTABLE}: install it (Debian: apt-get install chromium), or name one in COLLOQUY_CHROMIUM.`,
    );
  }
  return chromium.launch({ executablePath: EXECUTABLE, headless: true, args: QUIET });
}

/** Saves a screenshot of the page as `name`, if screenshots are wanted. */
export async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}
