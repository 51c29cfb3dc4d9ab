import type { Logger } from '../../mcp/logger.ts';
import type { Config } from '../../settings.ts';

/**
 * The log of a process that usually has nothing to log: the logger is loaded with the first line. `settled` resolves
 * when every line is written. `load` loads the logger without a line.
 */
export function laterLog(
  config: Pick<Config, 'logLevel'>,
): Logger & { load(): Promise<unknown>; settled(): Promise<void> } {
  let loading: Promise<Logger> | undefined;
  const load = () => {
    loading ??= import('../log.ts').then(({ createLog }) => createLog(config));
    return loading;
  };
  let last = Promise.resolve();
  // A reader that is gone must not end the process; `createLog` handles that too, but may never be called.
  process.stderr.on('error', () => {});

  const write = (level: keyof Logger) => (details: object, message: string) => {
    last = load().then(
      (log) => log[level](details, message),
      () => undefined,
    );
  };
  return { info: write('info'), warn: write('warn'), error: write('error'), load, settled: () => last };
}
