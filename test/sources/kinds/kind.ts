/** A kind of source beside a real server, as the tests that are the same for all kinds need it. */
export interface KindUnderTest {
  readonly kind: string;
  /** What it has not, since the kind or the server knows no such thing. */
  readonly lacks: readonly ('remove' | 'spoil' | 'wrong' | 'restart')[];
  /** The most items of an initial read, where its server takes longer for each the more it has. */
  readonly itemsMax?: number;
  /** `proxyPort`: of the proxy that stands before it, for a server that tells its clients where to go. */
  start(proxyPort: number): Promise<RunningKind>;
}

/** Places hold items with a number `n` and a value `v`. */
export interface RunningKind {
  /** Of the server, for a proxy to stand before it. */
  port(): number;
  /** What the proxy stands before (default: the same). */
  behind?(): number;
  /** The connection details of an integration, by way of this port. */
  connection(port: number): Record<string, unknown>;
  /** The same with a key that the server refuses; absent: it checks none. */
  wrong?(port: number): Record<string, unknown>;
  /** The kind's fields of a source, and `format_params` if it needs any. */
  source(place: string): Record<string, unknown>;
  /** Makes a place with the items 1 to `count`, whose `v` is their number. */
  fill(place: string, count: number): Promise<void>;
  /** Gives an item another value, or where there are no changes adds one with this number and value. */
  change(place: string, n: number, v: number): Promise<void>;
  /** Whether a change is an item of its own. */
  readonly appends: boolean;
  /** Deletes an item; absent: the kind knows no deletes. */
  remove?(place: string, n: number): Promise<void>;
  /** Adds an item that is no document; absent: everything there is one. */
  spoil?(place: string): Promise<void>;
  /** Ends the server, suddenly, and starts it on the same data and port. */
  restart?(): Promise<void>;
  /** Reads all items of a place with the client library alone, and stores nothing; returns their number. */
  bare(place: string, count: number): Promise<number>;
  close(): Promise<void>;
}
