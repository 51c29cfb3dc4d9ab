import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';

/** The browser that the tests drive. */
const EXECUTABLE = process.env['COLLOQUY_CHROMIUM'] ?? '/usr/bin/chromium';

/** Where pictures are put for a person to look at; none are made without it. */
const PICTURES = process.env['COLLOQUY_SCREENSHOTS'];

/** It asks nobody for anything: no updates, no sync, no first-run pages. */
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
 * Starts a Chromium with a profile of its own, which is removed when it is closed. Rejects, with what to do, where there
 * is none.
 */
export async function launch(): Promise<Browser> {
  if (!existsSync(EXECUTABLE)) {
    throw new Error(
      `There is no Chromium at ${EXECUTABLE}: install it (Debian: apt-get install chromium), or name one in COLLOQUY_CHROMIUM.`,
    );
  }
  return chromium.launch({ executablePath: EXECUTABLE, headless: true, args: QUIET });
}

/** Keeps a picture of the page under `name`, where pictures are wanted. */
export async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}
