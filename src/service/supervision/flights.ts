import { closeSync, constants, ftruncateSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';

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

export interface Flight {
  readonly work: Work;
  /** Says that the thread works on this request from here on, until it turns to something else. */
  working(): void;
  /** To be called after a change of `work`. */
  changed(): void;
  end(): void;
}

/** Where the thread and whoever watches it meet: each is an index into `Flights.board`. */
export const BEAT = 0;
/** The slot of the request that the thread works on; 0: not known. */
export const CURRENT = 1;

export const SLOT_BYTES = 4096;
export const SLOTS = 256;
const LENGTH_BYTES = 4;
const NOTHING = Buffer.alloc(LENGTH_BYTES);

/**
 * The requests in flight, in a file that outlives the process however it ends: even the engine's crash leaves what the
 * next process needs to tell who was there. It costs two short writes per request into the system's file cache, about
 * 2 µs each, and is never made durable: only the death of the process counts, not that of the machine.
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
  const free = Array.from({ length: SLOTS - 1 }, (_, index) => SLOTS - 1 - index);
  const bytes = Buffer.alloc(SLOT_BYTES);
  let isMarked = false;

  const put = (slot: number, value: unknown) => {
    const length = bytes.write(JSON.stringify(value), LENGTH_BYTES);
    bytes.writeUInt32LE(length);
    write(fd, bytes, LENGTH_BYTES + length, slot);
  };
  const forget = () => {
    isMarked = false;
    Atomics.store(board, CURRENT, 0);
  };
  put(0, { pid: process.pid });

  return {
    board,
    fd,
    begin(work) {
      // With more requests in flight than slots, some are not named.
      const slot = free.pop() ?? 0;
      let isOver = slot === 0;
      const flight = {
        work,
        working() {
          Atomics.store(board, CURRENT, isOver ? 0 : slot);
          if (!isMarked) setImmediate(forget);
          isMarked = true;
        },
        changed() {
          if (!isOver) put(slot, work);
        },
        end() {
          if (isOver) return;
          isOver = true;
          write(fd, NOTHING, LENGTH_BYTES, slot);
          free.push(slot);
        },
      };
      flight.changed();
      return flight;
    },
    close() {
      if (fd === undefined || file === undefined) return;
      closeSync(fd);
      unlinkSync(file);
    },
  };
}

function create(file: string): number | undefined {
  try {
    const fd = openSync(file, constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC, 0o600);
    ftruncateSync(fd, SLOTS * SLOT_BYTES);
    return fd;
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
