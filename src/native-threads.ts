/** The environment variable by which Node.js takes the number of its native threads. */
const THREAD_POOL = 'UV_THREADPOOL_SIZE';
const SERVICE_THREADS = 24;

/** For the environment of a process that runs the service, before what its user has set. */
export const SERVICE_THREADS_ENV: Readonly<Record<string, string>> = { [THREAD_POOL]: String(SERVICE_THREADS) };

/**
 * Number of threads that all native calls of this process share, those of the engine and those on files. Node.js
 * creates them before any of our code runs, so a process can set the number only for processes that it starts.
 */
export function nativeThreads(env: Readonly<Record<string, string | undefined>> = process.env): number {
  const set = Number(env[THREAD_POOL]);
  return Number.isInteger(set) && set > 0 ? set : 4;
}
