/**
 * The only table of errors. `status` and `type` are what the service sends; the client maps them back to the code.
 * Codes without a status occur only on the client's side.
 */
export const ERRORS = {
  invalid_input: { status: 400, type: 'INVALIDINPUT' },
  query_error: { status: 400, type: 'QUERY_ERROR' },
  unauthorized: { status: 401, type: 'AUTHEXCEPTION' },
  forbidden: { status: 403, type: 'FORBIDDEN' },
  not_found: { status: 404, type: 'NOTFOUND' },
  method_not_allowed: { status: 405, type: 'METHODNOTALLOWED' },
  query_timeout: { status: 408, type: 'QUERY_TIMEOUT' },
  already_exists: { status: 409, type: 'ALREADYEXISTS' },
  dependent_resources: { status: 409, type: 'DEPENDENTRESOURCES' },
  /** A person stopped it. Added by this service. */
  query_stopped: { status: 409, type: 'QUERY_STOPPED' },
  content_too_large: { status: 413, type: 'CONTENTTOOLARGE' },
  unsupported_media_type: { status: 415, type: 'UNSUPPORTEDMEDIATYPE' },
  resource_exceeded: { status: 429, type: 'RESOURCEEXCEEDED' },
  /** The disk is full, and nothing of the request was stored. Repeating it helps only once there is space. */
  storage_full: { status: 507, type: 'STORAGEFULL' },
  internal: { status: 500, type: 'INTERNALERROR' },
  not_ready: { status: 503, type: 'NOT_READY' },
  /** Nobody answers at the address, or the connection broke. */
  connection_failed: { status: undefined, type: 'CONNECTION_FAILED' },
  /** The caller's own time limit expired before the answer. */
  request_timeout: { status: undefined, type: 'REQUEST_TIMEOUT' },
  /** The caller abandoned the request. */
  aborted: { status: undefined, type: 'ABORTED' },
  /** The answer is larger than the caller accepts. */
  response_too_large: { status: undefined, type: 'RESPONSE_TOO_LARGE' },
  /** The answer breaks the contract: the service's fault, or not this service at all. */
  contract_mismatch: { status: undefined, type: 'CONTRACT_MISMATCH' },
} as const;

export type ErrorCode = keyof typeof ERRORS;

/** `message_key` values of a 404. */
export type NotFoundKey =
  | 'COLLECTION_DOES_NOT_EXIST'
  | 'WORKSPACE_NOT_FOUND'
  | 'QUERY_NOT_FOUND'
  | 'ALIAS_NOT_FOUND'
  | 'INTEGRATION_NOT_FOUND'
  | 'USER_NOT_FOUND'
  | 'API_KEY_NOT_FOUND'
  | 'TAG_NOT_FOUND'
  | 'VIRTUAL_INSTANCE_NOT_FOUND'
  | 'ALLOWLIST_ENTRY_NOT_FOUND';

/** Reasons for which a document is refused that another argument of its load takes away. */
export type RefusalKind = 'id_is_number' | 'id_is_nested' | 'other_time_format';

/** The body of every HTTP error; keys are always present, null if there is no value. */
export interface ErrorBody {
  message: string;
  type: string;
  message_key: string | null;
  line: number | null;
  column: number | null;
  trace_id: string | null;
  error_id: string | null;
  query_id: string | null;
  /** Only if there is one. */
  corrected_sql?: string;
  internal_errors: unknown[] | null;
}

/** How the line of a message begins that is about the corrected SQL. */
export const IN_CORRECTED = 'In the corrected SQL, ';
/** What a message has between a field of text and the texts for which no cast is right. */
export const TEXT_SUCH_AS = ' is text such as ';

export interface ApiErrorDetails {
  /** HTTP status as received; by default the code's own. */
  status?: number | undefined;
  messageKey?: string | undefined;
  /** Position in the caller's SQL text, counted from 1. */
  line?: number | undefined;
  column?: number | undefined;
  /** What was probably meant by SQL that fails: it passes all checks, and was not run. */
  correctedSql?: string | undefined;
  traceId?: string | undefined;
  errorId?: string | undefined;
  queryId?: string | undefined;
  /** Whether the message names what was probably meant. */
  isHinted?: boolean | undefined;
  /** How long to wait before another try, in milliseconds. */
  retryAfterMs?: number | undefined;
  /** Methods that the path supports (for a 405). */
  allow?: readonly string[] | undefined;
  cause?: unknown;
}

/** The only error that crosses layers. Match on `code`; `message` is safe to show to a model and contains no secret. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly status: number | undefined;
  readonly type: string;
  readonly details: Readonly<Omit<ApiErrorDetails, 'cause' | 'status'>>;

  constructor(code: ErrorCode, message: string, details: ApiErrorDetails = {}) {
    const { cause, status, ...rest } = details;
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status ?? ERRORS[code].status;
    this.type = ERRORS[code].type;
    this.details = rest;
  }
}

/** Whether a system's error means that the disk, or this user's quota, is full. */
export function isOutOfSpace(error: unknown): boolean {
  return /^(ENOSPC|EDQUOT|EFBIG)$/.test((error as NodeJS.ErrnoException | null)?.code ?? '');
}

/** The body that the service sends for `error`. */
export function toErrorBody(error: ApiError, traceId: string | null): ErrorBody {
  const { messageKey, line, column, errorId, queryId, correctedSql } = error.details;
  return {
    message: error.message,
    type: error.type,
    message_key: messageKey ?? null,
    line: line ?? null,
    column: column ?? null,
    trace_id: traceId,
    error_id: errorId ?? null,
    query_id: queryId ?? null,
    ...(correctedSql === undefined ? {} : { corrected_sql: correctedSql }),
    internal_errors: null,
  };
}

/** The code of a received error: by its `type` if known, else by its status. */
export function errorCodeOf(status: number, type?: unknown): ErrorCode {
  const entries = Object.entries(ERRORS) as [ErrorCode, { status: number | undefined; type: string }][];
  const byType = entries.find(([, row]) => row.type === type && row.status !== undefined);
  if (byType !== undefined) return byType[0];
  const byStatus = entries.find(([, row]) => row.status === status);
  if (byStatus !== undefined) return byStatus[0];
  return status >= 500 || status < 400 ? 'internal' : 'invalid_input';
}

/** Why the name of a file cannot be in a field. */
export function fieldTaken(name: string): ApiError {
  const field = JSON.stringify(name);
  return new ApiError(
    'invalid_input',
    `Cannot put the name of the file into ${field} ("file_field"): the file has a field of that name. Give another name.`,
  );
}
