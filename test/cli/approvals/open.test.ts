import { chmodSync, existsSync, mkdirSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { leaveService } from '../../../src/cli/serve/leave-service.ts';
import { browserOpener } from '../../../src/config.ts';
import { buildIfStale, dataFolder } from '../../scenarios/binary.ts';
import { serverEnvironment } from '../../scenarios/session.ts';
import { pairAt } from '../../service/pages/browser.ts';
import { HAS_TERMINALS, outcomeOf, runHere, startOnTerminal, type Variables } from '../program.ts';

beforeAll(buildIfStale, 60_000);

let folder: Awaited<ReturnType<typeof dataFolder>>;
beforeAll(async () => {
  folder = await dataFolder();
});
afterAll(async () => {
  await leaveService(folder.path, { startMs: 0 });
  await folder.remove();
});

const ADDRESS = /http:\/\/127\.0\.0\.1:\d+\/pair\/[\w-]{43}/;

const env = (more: Variables = {}) => ({ ...serverEnvironment(folder.path), ...more });
const run = (args: string[], more?: Variables) => runHere(args, env(more));
const runOnTerminal = (args: string[], more?: Variables) => outcomeOf(startOnTerminal(args, env(more)));

/** A program in place of the one that opens browsers: it records its arguments. */
function fakeOpener() {
  const bin = join(folder.path, 'bin');
  const given = join(bin, 'given');
  mkdirSync(bin, { recursive: true });
  writeFileSync(
    join(bin, 'xdg-open'),
    `#!/bin/sh\nprintf %s "$*" > '${given}.part' && mv '${given}.part' '${given}'\n`,
  );
  chmodSync(join(bin, 'xdg-open'), 0o755);
  const isGiven = new Promise<void>((resolve) => {
    const watching = watch(bin, () => {
      if (!existsSync(given)) return;
      watching.close();
      resolve();
    });
  });
  const opener = { DISPLAY: ':0', PATH: `${bin}:/usr/bin:/bin` };
  return { opener, given: () => isGiven.then(() => readFileSync(given, 'utf8')) };
}

describe('browserOpener()', () => {
  it('is the one of the system, where there is a display', () => {
    expect(browserOpener({}, 'linux')).toBeUndefined();
    expect(browserOpener({ WAYLAND_DISPLAY: 'wayland-0' }, 'linux')).toEqual({ command: 'xdg-open', args: [] });
    expect(browserOpener({}, 'darwin')).toEqual({ command: 'open', args: [] });
    expect(browserOpener({}, 'win32')?.command).toBe('rundll32');
  });
});

describe('colloquy open', () => {
  it('makes no address without a terminal, and starts no service', async () => {
    for (const args of [['open'], ['open', '--print']]) {
      expect(await run(args)).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/person at a terminal/),
      });
    }
    expect(existsSync(join(folder.path, 'service.sock'))).toBe(false);
  });

  it('works only on the machine of the service', async () => {
    expect(await run(['open'], { COLLOQUY_URL: 'https://example.com', COLLOQUY_API_KEY: 'k' })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/machine of the service/),
    });
  });

  describe.runIf(HAS_TERMINALS)('on a terminal', () => {
    it('prints an address that shows the page, where there is no display', async () => {
      const { code, stdout } = await runOnTerminal(['open']);
      expect(code).toBe(0);
      expect(stdout).toContain('Open this in your browser');
      const [url = ''] = ADDRESS.exec(stdout) ?? [];
      const page = await fetch(new URL('/', url), { headers: { cookie: await pairAt(url) } });
      expect(await page.text()).toContain(folder.path);
    });

    it('gives it to the program that opens browsers, unless it is only to be printed', async () => {
      const { opener, given } = fakeOpener();
      const printed = await runOnTerminal(['open', '--print'], opener);
      expect(printed.stdout).toMatch(/^Open this in your browser/);
      const opened = await runOnTerminal(['open'], opener);
      expect(opened.stdout).toMatch(/^The page was opened/);
      expect(await given()).toBe(ADDRESS.exec(opened.stdout)?.[0]);
    });
  });
});
