import type { JsonObject } from '../../../src/contract/json/json.ts';
import type { SourceModule } from '../../../src/service/sources/source.ts';

/** A bucket of a real store, which tests write to. */
export interface TestBucket {
  readonly name: string;
  /** How a source reads it, from a port (default: the store's own). */
  connection(port?: number): JsonObject;
  put(key: string, bytes: Buffer | string): Promise<void>;
  remove(key: string): Promise<void>;
  /** Reads an object with the client alone. */
  get(key: string): Promise<Buffer>;
}

/** A store of objects. */
export interface TestStore {
  readonly kind: 's3' | 'gcs';
  readonly module: SourceModule;
  /** The port that a source is given. */
  port(): number;
  createBucket(): Promise<TestBucket>;
  /** Ends and starts it; what it holds stays. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

let made = 0;

export function newBucketName(): string {
  made += 1;
  return `bucket-${made}-${Date.now()}`;
}
