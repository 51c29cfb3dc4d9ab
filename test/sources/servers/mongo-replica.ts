import { rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { BSON, type Collection, type Document, Long, MongoClient, Timestamp } from 'mongodb';
import { startMongoServer } from './mongo-server.ts';
import { dataFolder, freePort } from './server.ts';

/*
 * What speaks MongoDB's wire as a replica set of one does: documents are those of a mongo-java-server, the change streams are
 * of a log of its own, into which tests write through `write`. No package registry has MongoDB itself:
 * scripts/mongodb-check.mjs shows what only that can.
 */

export interface MongoReplica {
  readonly port: number;
  /** A server without a replica set. */
  readonly standalonePort: number;
  /** Past the change streams. */
  collection(name: string): Collection<Document>;
  insert(name: string, documents: Document[]): Promise<void>;
  update(name: string, id: unknown, set: Document): Promise<void>;
  replace(name: string, id: unknown, document: Document): Promise<void>;
  remove(name: string, id: unknown): Promise<void>;
  /** Something that happens to the collection itself, such as `drop`. */
  happen(name: string, kind: string, more?: Document): void;
  /** Forgets all changes so far, or those before a resume token, as an oplog does that is too small. */
  forget(token?: unknown): void;
  /** Answers this to a command of this name, as often as this (default once). */
  answer(command: string, reply: Document, times?: number): void;
  /** Commands that were received, the newest last. */
  readonly commands: { name: string; command: Document }[];
  /** Ends all connections and forgets all cursors, as a new start does. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

const DB = 'shop';
const T0 = 1_700_000_000;

interface LogEntry {
  at: number;
  name: string;
  kind: string;
  key: unknown;
  document: Document | undefined;
  more: Document;
}

interface StreamCursor {
  name: string;
  at: number;
  isLookup: boolean;
  batchSize: number;
}

export async function startMongoReplica(): Promise<MongoReplica> {
  const folder = await dataFolder('mongo');
  const standalonePort = await freePort();
  const server = await startMongoServer(standalonePort, folder);
  const writer = await new MongoClient(`mongodb://127.0.0.1:${standalonePort}`).connect();
  const collection = (name: string) => writer.db(DB).collection<Document>(name);
  const state: State = {
    log: [],
    end: 0,
    floor: 0,
    cursors: new Map(),
    nextCursor: 1,
    answers: [],
    commands: [],
    collection,
  };
  const sockets = new Set<Socket>();
  const front = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    serve(socket, standalonePort, () => port, state);
  });
  const listen = (wanted: number) =>
    new Promise<void>((resolve) => {
      front.listen(wanted, '127.0.0.1', resolve);
    });
  const port = await freePort();
  await listen(port);
  const stop = () =>
    new Promise((resolve) => {
      front.close(resolve);
      for (const socket of sockets) socket.destroy();
    });
  const write = (name: string, kind: string, key: unknown, document?: Document, more: Document = {}) =>
    state.log.push({ at: ++state.end, name, kind, key, document, more });
  return {
    port,
    standalonePort,
    collection,
    async insert(name, documents) {
      await collection(name).insertMany(documents);
      for (const document of documents) write(name, 'insert', document['_id'], document);
    },
    async update(name, id, set) {
      await collection(name).updateOne({ _id: id } as Document, { $set: set });
      write(name, 'update', id, undefined, { updateDescription: { updatedFields: set, removedFields: [] } });
    },
    async replace(name, id, document) {
      await collection(name).replaceOne({ _id: id } as Document, document);
      write(name, 'replace', id, { _id: id, ...document });
    },
    async remove(name, id) {
      await collection(name).deleteOne({ _id: id } as Document);
      write(name, 'delete', id);
    },
    happen: (name, kind, more) => void write(name, kind, undefined, undefined, more),
    forget(token) {
      state.floor = token === undefined ? ++state.end : placeOf(token);
      state.log = state.log.filter(({ at }) => at > state.floor);
    },
    answer: (name, reply, times = 1) => void state.answers.push({ name, reply, times }),
    commands: state.commands,
    async restart() {
      await stop();
      state.cursors.clear();
      await listen(port);
    },
    async close() {
      await stop();
      await writer.close();
      await server.stop('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface State {
  log: LogEntry[];
  /** Number of the newest entry, and of the last one that is forgotten. */
  end: number;
  floor: number;
  cursors: Map<number, StreamCursor>;
  nextCursor: number;
  answers: { name: string; reply: Document; times: number }[];
  commands: { name: string; command: Document }[];
  collection: MongoReplica['collection'];
}

const OP_MSG = 2013;
const OP_QUERY = 2004;

/** Answers what a replica set answers, and passes on the rest. */
function serve(socket: Socket, target: number, port: () => number, state: State): void {
  const behind = connect(target, '127.0.0.1');
  behind.on('error', () => socket.destroy());
  behind.on('close', () => socket.destroy());
  socket.on('close', () => behind.destroy());
  behind.on('data', (piece) => void socket.write(piece));
  let rest = Buffer.alloc(0);
  socket.on('data', (piece) => {
    rest = Buffer.concat([rest, piece]);
    // No message, such as the first one of TLS.
    if (rest.length >= 4 && rest.readInt32LE(0) > 48_000_000) socket.destroy();
    while (rest.length >= 4 && rest.length >= rest.readInt32LE(0)) {
      const message = rest.subarray(0, rest.readInt32LE(0));
      rest = rest.subarray(message.length);
      void handle(message);
    }
  });
  async function handle(message: Buffer): Promise<void> {
    const id = message.readInt32LE(4);
    const isQuery = message.readInt32LE(12) === OP_QUERY;
    const body = isQuery ? message.subarray(message.indexOf(0, 20) + 9) : message.subarray(21);
    const command = BSON.deserialize(body, { promoteValues: false, allowObjectSmallerThanBufferSize: true });
    const name = (Object.keys(command)[0] ?? '').toLowerCase();
    state.commands.push({ name, command });
    const reply = await replyTo(name, command, port(), state);
    if (reply === 'pass') behind.write(messageOf(id, 0, withoutReplicaSet(command)));
    else if (isQuery) socket.write(oldReply(id, reply));
    else socket.write(messageOf(0, id, reply));
  }
}

function messageOf(id: number, to: number, document: Document): Buffer {
  const body = BSON.serialize(document);
  const head = Buffer.alloc(21);
  head.writeInt32LE(head.length + body.length, 0);
  head.writeInt32LE(id, 4);
  head.writeInt32LE(to, 8);
  head.writeInt32LE(OP_MSG, 12);
  return Buffer.concat([head, body]);
}

/** The first message of a connection is an old one. */
function oldReply(to: number, document: Document): Buffer {
  const body = BSON.serialize(document);
  const head = Buffer.alloc(36);
  head.writeInt32LE(head.length + body.length, 0);
  head.writeInt32LE(to, 8);
  head.writeInt32LE(1, 12);
  head.writeInt32LE(8, 16);
  head.writeInt32LE(1, 32);
  return Buffer.concat([head, body]);
}

/** Types above that of a value, in the order of MongoDB. */
const ORDER = ['number', 'string', 'object', 'binData', 'objectId', 'bool', 'date'];

/** A command as the server behind understands it. */
function withoutReplicaSet(command: Document): Document {
  const { lsid, $clusterTime, readConcern, min, hint, $readPreference, ...rest } = command;
  if (min === undefined) return rest;
  const bound = min['_id'];
  const above = ORDER.slice(ORDER.indexOf(typeIn(bound)) + 1).map((type) => ({ _id: { $type: type } }));
  return { ...rest, filter: { $or: [{ _id: { $gte: bound } }, ...above] } };
}

function typeIn(value: unknown): string {
  if (typeof value === 'string') return 'string';
  const type = (value as { _bsontype?: string } | null)?._bsontype;
  if (type === 'ObjectId') return 'objectId';
  if (type === 'Binary') return 'binData';
  if (type !== undefined) return 'number';
  if (typeof value === 'boolean') return 'bool';
  return value instanceof Date ? 'date' : 'object';
}

async function replyTo(name: string, command: Document, port: number, state: State): Promise<Document | 'pass'> {
  const own = state.answers.find((one) => one.name === name && one.times > 0);
  if (own !== undefined) {
    own.times -= 1;
    return own.reply;
  }
  if (name === 'hello' || name === 'ismaster') return helloOf(port);
  // It has no users.
  if (name === 'saslstart')
    return {
      ok: 0,
      code: 18,
      codeName: 'AuthenticationFailed',
      errmsg: 'Authentication failed, not with top%2Fsecret.',
    };
  if (name === 'endsessions' || name === 'ping') return { ok: 1 };
  if (name === 'aggregate' && command['pipeline'][0]?.$changeStream !== undefined) return opened(command, state);
  if (name === 'getmore') {
    const cursor = state.cursors.get(Number(command['getMore']));
    if (cursor !== undefined) return more(cursor, command, state);
  }
  if (name === 'killcursors') {
    const ids = (command['cursors'] as unknown[]).map(Number);
    if (ids.some((id) => state.cursors.delete(id))) return { ok: 1, cursorsKilled: [], cursorsNotFound: [] };
  }
  return 'pass';
}

function helloOf(port: number): Document {
  const me = `127.0.0.1:${port}`;
  return {
    ok: 1,
    isWritablePrimary: true,
    ismaster: true,
    helloOk: true,
    setName: 'rs0',
    setVersion: 1,
    hosts: [me],
    me,
    primary: me,
    maxBsonObjectSize: 16_777_216,
    maxMessageSizeBytes: 48_000_000,
    maxWriteBatchSize: 100_000,
    logicalSessionTimeoutMinutes: 30,
    minWireVersion: 0,
    maxWireVersion: 21,
    localTime: new Date(),
  };
}

const placeOf = (token: unknown) => Number.parseInt((token as { _data: string })._data, 16);
const tokenOf = (at: number) => ({ _data: at.toString(16).padStart(16, '0') });
/** The time of an entry of the log. */
const timeOf = (at: number) => new Timestamp({ t: T0 + at, i: 1 });

function opened(command: Document, state: State): Document {
  const { resumeAfter, fullDocument } = command['pipeline'][0].$changeStream;
  const at = resumeAfter === undefined ? state.end : placeOf(resumeAfter);
  if (at < state.floor) {
    return {
      ok: 0,
      code: 286,
      codeName: 'ChangeStreamHistoryLost',
      errmsg: 'Resume of change stream was not possible, as the resume point may no longer be in the oplog.',
      errorLabels: ['NonResumableChangeStreamError'],
    };
  }
  const id = 1_000_000_000 + state.nextCursor++;
  const name = String(command['aggregate']);
  state.cursors.set(id, { name, at, isLookup: fullDocument === 'updateLookup', batchSize: 100 });
  return {
    ok: 1,
    operationTime: timeOf(state.end),
    cursor: { id: Long.fromNumber(id), ns: `${DB}.${name}`, firstBatch: [], postBatchResumeToken: tokenOf(at) },
  };
}

async function more(cursor: StreamCursor, command: Document, state: State): Promise<Document> {
  const until = Date.now() + Number(command['maxTimeMS'] ?? 1_000);
  const ready = () => state.log.filter(({ at, name }) => at > cursor.at && name === cursor.name).slice(0, 1_000);
  let entries = ready();
  while (entries.length === 0 && Date.now() < until) {
    await delay(10);
    entries = ready();
  }
  const batch: Document[] = [];
  for (const entry of entries) batch.push(await eventOf(entry, cursor.isLookup, state));
  cursor.at = entries.at(-1)?.at ?? state.end;
  const isOver = entries.some(({ kind }) => kind === 'invalidate');
  return {
    ok: 1,
    operationTime: timeOf(state.end),
    cursor: {
      id: isOver ? Long.ZERO : command['getMore'],
      ns: `${DB}.${cursor.name}`,
      nextBatch: batch,
      postBatchResumeToken: tokenOf(cursor.at),
    },
  };
}

async function eventOf({ at, name, kind, key, document, more }: LogEntry, isLookup: boolean, state: State) {
  const { updateDescription, ...others } = more;
  const isLookedUp = kind === 'update' && isLookup;
  const now = isLookedUp
    ? await state.collection(name).findOne({ _id: key } as Document, { promoteValues: false })
    : document;
  return {
    _id: tokenOf(at),
    operationType: kind,
    clusterTime: timeOf(at),
    wallTime: new Date(),
    ns: { db: DB, coll: name },
    ...(key === undefined ? {} : { documentKey: { _id: key } }),
    ...(isLookedUp || document !== undefined ? { fullDocument: now } : {}),
    ...others,
  };
}
