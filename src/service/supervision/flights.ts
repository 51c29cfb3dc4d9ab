import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { hash } from 'node:crypto';
import { closeSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';

/** A request that is being worked on. Never contains the key itself, nor its whole hash, nor a document. */
export interface Work {
  /** Null: not a request, but something that the service does by itself. */
  traceId: string | null;
  operation: string;
  /** ISO-8601. */
  startedAt: string;
  caller: { keyName: string; email: string; fingerprint: string } | null;
  /** By which the request, and the statement that it runs, are known again. */
  fingerprints: string[];
  /** The beginning of the statement, with anything that looks like an API key removed. */
  sql: string | null;
}

/** Longer requests are known by their length, beginning and end. */
const EDGE_BYTES = 32 * 1024;

/** A short text that is the same for the same parts, and tells nothing of them. */
export function fingerprint(...parts: (string | Buffer)[]): string {
  const texts = parts.map((part) => `${part.length} ${edgesOf(part)}`);
  return hash('sha256', texts.join(''), 'hex').slice(0, 32);
}

function edgesOf(part: string | Buffer): string {
  const text = (start: number, end?: number) =>
    typeof part === 'string' ? part.slice(start, end) : part.toString('latin1', start, end);
  if (part.length <= 2 * EDGE_BYTES) return text(0);
  return text(0, EDGE_BYTES) + text(part.length - EDGE_BYTES);
}

export interface Flight {
  readonly work: Work;
  /** Runs `work`: it is seen that the thread works on this request whenever it is in there, also after each wait. */
  run<T>(work: () => T): T;
  /** To be called after a change of `work`. */
  changed(): void;
  end(): void;
}

/** Where the thread and whoever watches it meet: each is an index into `Flights.board`. */
export const BEAT = 0;
/** The slot of the request that the thread works on; 0: none. */
export const CURRENT = 1;

export const SLOT_BYTES = 4096;
const LENGTH_BYTES = 4;
const NOTHING = Buffer.alloc(LENGTH_BYTES);

/**
 * The requests in flight, in a file that outlives the process however it ends: even the engine's crash leaves what the
 * next process needs to tell who was there. It costs two short writes per request into the system's file cache, about
 * 2 µs each, and is never made durable: only the death of the process counts, not that of the machine. Another thread
 * could write it while this one goes on, but dies with the process: a statement that crashes the engine at once would
 * not be in the file yet.
 */
export interface Flights {
  /** Shared with the thread that watches this one. */
  readonly board: Int32Array<SharedArrayBuffer>;
  /** The open file; undefined: there is none. */
  readonly fd: number | undefined;
  begin(work: Work): Flight;
  /** Removes the file: nothing was in flight when this service ended. */
  close(): void;
}

/** What a file says that a process left behind: its id, and what it worked on. Undefined: there is no such file. */
export function leftInFlight(file: string): { pid: number; works: Work[] } | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch {
    return undefined;
  }
  const texts = Array.from({ length: Math.ceil(bytes.length / SLOT_BYTES) }, (_, slot) => {
    const start = slot * SLOT_BYTES + LENGTH_BYTES;
    return start > bytes.length ? '' : bytes.toString('utf8', start, start + bytes.readUInt32LE(start - LENGTH_BYTES));
  });
  const [owner, ...works] = texts.map(parsed);
  const pid = (owner as { pid?: unknown } | undefined)?.pid;
  return { pid: typeof pid === 'number' ? pid : 0, works: works.filter(isWork) };
}

function parsed(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isWork(value: unknown): value is Work {
  return typeof value === 'object' && value !== null && 'fingerprints' in value && Array.isArray(value.fingerprints);
}

/** Starts a new file in place of an old one; without a file, or where none can be written, nothing outlives. */
export function openFlights(file: string | undefined): Flights {
  const board = new Int32Array(new SharedArrayBuffer(8));
  const fd = file === undefined ? undefined : create(file);
  const free: number[] = [];
  let slots = 0;
  const bytes = Buffer.alloc(SLOT_BYTES);
  /** Holds the slot of the request that code runs for; 0 once that is over. */
  const current = new AsyncLocalStorage<{ slot: number }>();
  const see = () => {
    Atomics.store(board, CURRENT, current.getStore()?.slot ?? 0);
  };
  const hook = createHook({ before: see }).enable();

  const put = (slot: number, value: unknown) => {
    const length = bytes.write(JSON.stringify(value), LENGTH_BYTES);
    bytes.writeUInt32LE(length);
    write(fd, bytes, LENGTH_BYTES + length, slot);
  };
  put(0, { pid: process.pid });

  return {
    board,
    fd,
    begin(work) {
      if (free.length === 0) free.push(++slots);
      const held = { slot: free.pop() as number };
      const flight: Flight = {
        work,
        run: (work) =>
          current.run(held, () => {
            see();
            return work();
          }),
        changed() {
          if (held.slot > 0) put(held.slot, work);
        },
        end() {
          const { slot } = held;
          if (slot === 0) return;
          held.slot = 0;
          write(fd, NOTHING, LENGTH_BYTES, slot);
          free.push(slot);
        },
      };
      flight.changed();
      return flight;
    },
    close() {
      hook.disable();
      if (fd === undefined || file === undefined) return;
      closeSync(fd);
      unlinkSync(file);
    },
  };
}

function create(file: string): number | undefined {
  try {
    return openSync(file, 'w+', 0o600);
  } catch {
    // A full disk, for example: the service serves all the same.
    return undefined;
  }
}

function write(fd: number | undefined, bytes: Buffer, length: number, slot: number): void {
  if (fd === undefined) return;
  try {
    writeSync(fd, bytes, 0, length, slot * SLOT_BYTES);
  } catch {
    // As above; the slot keeps what it had.
  }
}
