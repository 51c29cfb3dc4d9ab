import type { FastifyReply } from 'fastify';
import type { Logger } from 'pino';
import { ApiError, toErrorBody } from '../../contract/errors.ts';
import { stringifyJson } from '../../contract/json/json.ts';
import { allowedMethods } from './paths.ts';

export const JSON_TYPE = 'application/json';
const QUOTED_MAX = 200;

/** The error to answer with for anything that was thrown; what is not the caller's fault is logged with its cause. */
export function toApiError(error: unknown, log: Logger, traceId: string): ApiError {
  if (error instanceof ApiError && error.status !== undefined && error.status < 500) return error;
  if (error instanceof ApiError && (error.code === 'not_ready' || error.code === 'storage_full')) return error;
  // The query was stopped because the service is closing. (If the caller hung up, nobody reads the answer.)
  if (error instanceof ApiError && error.code === 'aborted') return notReady('closing', error);
  const framework = fromFramework(error);
  if (framework !== undefined) return framework;
  log.error({ trace_id: traceId, err: error }, 'request failed');
  if (error instanceof ApiError && error.code === 'internal') return error;
  return new ApiError(
    'internal',
    `The service failed unexpectedly. Try again; if it happens again, report the trace id "${traceId}".`,
    { cause: error },
  );
}

/** The service is starting or closing. */
export function notReady(phase: 'starting' | 'closing', cause?: unknown): ApiError {
  return new ApiError('not_ready', `The service is ${phase}. Try again in a moment.`, { retryAfterMs: 1_000, cause });
}

/** 404 for a path that does not exist, 405 for one that exists with other methods. */
export function noSuchEndpoint(method: string, url: string): ApiError {
  const path = (url.split(/[?#]/, 1)[0] ?? '').slice(0, QUOTED_MAX);
  const allow = allowedMethods(url);
  if (allow.length > 0) {
    return new ApiError(
      'method_not_allowed',
      `The path "${path}" does not support the method ${method}. Use ${allow.join(', ')}.`,
      { allow },
    );
  }
  const shorter = path.length > 1 && path.endsWith('/') && allowedMethods(path.slice(0, -1)).length > 0;
  const hint = shorter ? 'Leave out the slash at its end.' : 'The API lies under "/v1/orgs/self".';
  return new ApiError('not_found', `There is no endpoint at the path "${path}". ${hint}`);
}

/** Answers with an error in the one shape that all errors have. */
export function sendError(reply: FastifyReply, error: ApiError, traceId: string): FastifyReply {
  const { allow, retryAfterMs } = error.details;
  if (allow !== undefined) reply.header('allow', allow.join(', '));
  if (retryAfterMs !== undefined) reply.header('retry-after', String(Math.max(1, Math.ceil(retryAfterMs / 1_000))));
  if (error.code !== 'unauthorized') reply.removeHeader('www-authenticate');
  else if (!reply.hasHeader('www-authenticate')) reply.header('www-authenticate', 'ApiKey');
  return reply
    .code(error.status ?? 500)
    .serializer(stringifyJson)
    .header('content-type', JSON_TYPE)
    .header('x-trace-id', traceId)
    .send(toErrorBody(error, traceId));
}

/** The raw HTTP answer to bytes that are not an HTTP request, or arrive too slowly. */
export function rawErrorResponse(code: string | undefined, traceId: string): string {
  const [status, message] =
    code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', 'The request has more than 16 KiB of headers.']
      : code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'The request did not arrive completely in time. Send it again.']
        : ['400 Bad Request', 'This is not a valid HTTP request.'];
  const body = stringifyJson(toErrorBody(new ApiError('invalid_input', message), traceId));
  const headers = [
    `HTTP/1.1 ${status}`,
    `content-type: ${JSON_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `x-trace-id: ${traceId}`,
    'connection: close',
  ];
  return `${headers.join('\r\n')}\r\n\r\n${body}`;
}

function fromFramework(error: unknown): ApiError | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new ApiError(
      'unsupported_media_type',
      'The request body is not declared as JSON. Send the header "Content-Type: application/json" and a JSON body.',
      { cause: error },
    );
  }
  if (code === 'FST_ERR_BAD_URL') {
    return new ApiError(
      'invalid_input',
      "The request's path has a malformed percent-encoding. Encode names as UTF-8.",
      {
        cause: error,
      },
    );
  }
  if (typeof code === 'string' && code.startsWith('FST_') && typeof statusCode === 'number' && statusCode < 500) {
    return new ApiError('invalid_input', error.message, { cause: error });
  }
  return undefined;
}
