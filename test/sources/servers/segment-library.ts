import { pathToFileURL } from 'node:url';
import { command, installed } from './server.ts';

const VERSION = '3.1.0';

/** What a test uses of Segment's library for Node.js. */
export interface SegmentLibrary {
  track(message: object, done?: (error: unknown) => void): void;
  identify(message: object, done?: (error: unknown) => void): void;
  page(message: object, done?: (error: unknown) => void): void;
  screen(message: object, done?: (error: unknown) => void): void;
  group(message: object, done?: (error: unknown) => void): void;
  alias(message: object, done?: (error: unknown) => void): void;
  on(event: 'http_response', seen: (response: { status: number }) => void): void;
  closeAndFlush(options?: { timeout: number }): Promise<void>;
}

export interface SegmentSettings {
  writeKey: string;
  /** The service's address. */
  host: string;
  flushAt?: number;
  flushInterval?: number;
  maxRetries?: number;
}

/** Its npm package. */
export const installSegmentLibrary = () =>
  installed(`segment-${VERSION}`, async (cwd) => {
    await command('npm', ['init', '-y'], { cwd });
    await command('npm', ['install', '--no-audit', '--no-fund', `@segment/analytics-node@${VERSION}`], { cwd });
  });

/** The real `@segment/analytics-node`, from its registry. */
export async function segmentLibrary(): Promise<new (settings: SegmentSettings) => SegmentLibrary> {
  const folder = await installSegmentLibrary();
  const entry = `${folder}/node_modules/@segment/analytics-node/dist/cjs/index.js`;
  const { Analytics } = await import(pathToFileURL(entry).href);
  return Analytics;
}
