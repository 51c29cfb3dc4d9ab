import type { Mount } from '../../service/app/mounts.ts';

/**
 * A mount whose code is loaded after `afterMs` milliseconds, or with its first request, since whoever started the
 * service is waiting for other answers. If loading fails, the next request tries again.
 */
export function mountedLater(path: string, load: () => Promise<Mount>, afterMs = 1_000): Mount {
  let loading: Promise<Mount> | undefined;
  const loaded = () => {
    clearTimeout(timer);
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  const timer = setTimeout(() => loaded().catch(() => undefined), afterMs).unref();
  return {
    path,
    admit: async (request, response) => (await loaded()).admit(request, response),
    handle: async (request, response, caller, signal) => (await loaded()).handle(request, response, caller, signal),
    close: async () => {
      clearTimeout(timer);
      const mount = await loading?.catch(() => undefined);
      await mount?.close();
    },
  };
}
