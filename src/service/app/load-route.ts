import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { ApiError, toErrorBody } from '../../contract/errors.ts';
import { stringifyJson } from '../../contract/json/json.ts';
import { LOAD, LOAD_ANSWER_TYPE, LOAD_TYPE, type LoadResult } from '../../contract/load.ts';
import { ended } from '../../contract/text.ts';
import type { CallContext } from '../context.ts';
import { load } from '../loading/load.ts';
import type { LoadOutcome } from '../loading/loading.ts';
import { longBody } from './arrival.ts';
import { JSON_TYPE, toApiError } from './failures.ts';
import { parseInput } from './input.ts';
import { routerPath } from './paths.ts';

/** How a request is admitted and carried out, as for every endpoint. */
interface Admission {
  log: Logger;
  /** Checks key, role and allowlist, before the body is read. */
  admit(request: FastifyRequest): Promise<void>;
  /** Runs the work of an admitted request. */
  guarded<T>(request: FastifyRequest, work: (call: CallContext) => Promise<T>): Promise<T>;
}

const FORM = /^(?:application\/x-www-form-urlencoded|multipart\/)/i;

/** The endpoint that takes a stream of bytes (`contract/load.ts`). */
export function addLoadRoute(app: FastifyInstance, { log, admit, guarded }: Admission): void {
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    // The body stays unread, whatever it is said to be; but forms are not what the file was.
    scope.addContentTypeParser('*', async ({ headers }: FastifyRequest) => {
      if (!FORM.test(headers['content-type'] ?? '')) return;
      const why = `The body of a load is sent as a form. Send the file as it is, with the header "Content-Type: ${LOAD_TYPE}".`;
      throw new ApiError('unsupported_media_type', why);
    });
    scope.route({
      method: LOAD.method,
      url: routerPath(LOAD.path),
      onRequest: admit,
      handler: async (request, reply) => {
        const input = await parseInput(LOAD, { params: request.params, query: request.query, body: undefined });
        return answer({ request, reply, log }, (tell) =>
          guarded(request, (call) => load(call, input, bytesOf(request), tell)),
        );
      },
    });
  });
}

/**
 * Answers with lines as work goes on. An error before the first of them has a status of its own, and so has a load that was
 * refused with nothing stored, whose error holds its result as `data`.
 */
async function answer(
  { request, reply, log }: { request: FastifyRequest; reply: FastifyReply; log: Logger },
  work: (tell: (outcome: Readonly<LoadOutcome>) => void) => Promise<LoadResult>,
): Promise<FastifyReply> {
  const lines = new Readable({ read: () => undefined });
  const put = (line: object) => lines.push(`${stringifyJson(line)}\n`);
  const end = (line: object) => {
    put(line);
    void drain(request).then(() => lines.push(null));
  };
  /** While the body is still being sent, too. */
  const fail = (failure: ApiError, more: object = {}) => {
    reply.code(failure.status ?? 500);
    end({ ...toErrorBody(failure, request.id), ...more });
  };
  let hasBegun = false;
  await new Promise<void>((resolve, reject) => {
    const begin = () => {
      hasBegun = true;
      resolve();
    };
    const tell = ({ entries, added, replaced }: Readonly<LoadOutcome>) => {
      put({ progress: { entries, added, replaced } });
      begin();
    };
    work(tell).then(
      (data) => {
        const refusal = hasBegun ? undefined : refusalOf(data);
        if (refusal === undefined) end({ data });
        else fail(refusal, { data });
        begin();
      },
      (error: unknown) => {
        const { readableDidRead, readableEnded } = request.raw;
        if (!hasBegun && (readableEnded || !readableDidRead)) return reject(error);
        const failure = toApiError(error, log, request.id);
        if (hasBegun) end({ status: failure.status ?? 500, error: toErrorBody(failure, request.id) });
        else fail(failure);
        begin();
      },
    );
  });
  if (reply.statusCode >= 400) reply.header('x-trace-id', request.id);
  return reply.type(reply.statusCode < 400 ? LOAD_ANSWER_TYPE : JSON_TYPE).send(lines);
}

/** The error of a load that stored nothing of what it was sent. */
function refusalOf({ stopped, added, replaced, sample }: LoadResult): ApiError | undefined {
  if (stopped === null || added + replaced > 0 || sample !== undefined) return undefined;
  return new ApiError('invalid_input', ended(`Nothing was loaded: ${stopped}`));
}

/** How long the rest of a body that nobody needs may take. */
const DRAIN_MS = 5_000;

/**
 * Reads what is still sent once the last line of the answer is written, at which the sender should end: if the connection
 * closes before, it learns that this broke, and not the answer.
 */
async function drain({ raw }: FastifyRequest): Promise<void> {
  if (raw.readableEnded || raw.destroyed) return;
  const until = performance.now() + DRAIN_MS;
  const read = async () => {
    for await (const _ of raw.iterator({ destroyOnReturn: false })) if (performance.now() > until) return;
  };
  let timer: NodeJS.Timeout | undefined;
  const waited = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, DRAIN_MS);
  });
  await Promise.race([read().catch(() => undefined), waited]);
  clearTimeout(timer);
}

async function* bytesOf({ raw }: FastifyRequest): AsyncGenerator<Buffer> {
  const encoding = raw.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') {
    throw new ApiError('unsupported_media_type', `The body has the Content-Encoding "${encoding}". Send it without.`);
  }
  try {
    yield* longBody(raw);
  } catch (error) {
    const why = raw.destroyed ? 'The request ended' : 'The rest of the request did not come';
    throw new ApiError('invalid_input', `${why} before its body was complete.`, { cause: error });
  }
}
