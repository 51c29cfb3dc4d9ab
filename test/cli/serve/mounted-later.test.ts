import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { mountedLater } from '../../../src/cli/serve/mounted-later.ts';
import type { Mount, MountCaller } from '../../../src/service/app/mounts.ts';

const NEVER_MS = 3_600_000;
const request = {} as IncomingMessage;
const response = {} as ServerResponse;

function loader(fails = 0) {
  const did: string[] = [];
  const mount: Mount = {
    path: '/beside',
    admit: () => did.push('admitted') < 0,
    handle: async () => void did.push('handled'),
    close: async () => void did.push('closed'),
  };
  const load = async () => {
    did.push('loaded');
    if (fails-- > 0) throw new Error('no such file');
    return mount;
  };
  return { did, load };
}

it('is loaded once, with its first request, and closed', async () => {
  const { did, load } = loader();
  const mount = mountedLater('/beside', load, NEVER_MS);
  expect(mount.path).toBe('/beside');
  await Promise.all([mount.admit(request, response), mount.admit(request, response)]);
  await mount.handle(request, response, {} as MountCaller, new AbortController().signal);
  await mount.close();
  expect(did).toEqual(['loaded', 'admitted', 'admitted', 'handled', 'closed']);
});

it('is loaded after a while where nobody asks', async () => {
  const { did, load } = loader();
  const mount = mountedLater('/beside', load, 1);
  await expect.poll(() => did).toEqual(['loaded']);
  await mount.close();
});

it('is not loaded to be closed', async () => {
  const { did, load } = loader();
  await mountedLater('/beside', load, 1).close();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(did).toEqual([]);
});

it('is loaded again by the next request where that failed', async () => {
  const { did, load } = loader(1);
  const mount = mountedLater('/beside', load, NEVER_MS);
  await expect(mount.admit(request, response)).rejects.toThrow('no such file');
  expect(await mount.admit(request, response)).toBe(false);
  expect(did).toEqual(['loaded', 'loaded', 'admitted']);
});
