type Environment = Readonly<Record<string, string | undefined>>;

/** The environment variable by which Node.js takes the number of its native threads. */
const THREAD_POOL = 'UV_THREADPOOL_SIZE';
const SERVICE_THREADS = 24;

/** The environment of a process that runs the service, with a number of its own if its user has set one. */
export function withServiceThreads(env: Environment = process.env): Environment {
  return { ...SERVICE_THREADS_ENV, ...env };
}

/** For that environment. */
export const SERVICE_THREADS_ENV: Readonly<Record<string, string>> = { [THREAD_POOL]: String(SERVICE_THREADS) };

/**
 * Number of threads that all native calls of this process share, those of the engine and those on files. Node.js
 * creates them before any of our code runs, so a process can set the number only for processes that it starts.
 */
export function nativeThreads(env: Environment = process.env): number {
  const set = Number(env[THREAD_POOL]);
  return Number.isInteger(set) && set > 0 ? set : 4;
}
