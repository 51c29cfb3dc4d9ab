import { SourceError, type SourceFault } from './source.ts';

/** What the broker's errors mean for a source, by their codes; all others are such that trying again may help. */
const FAULTS: Readonly<Record<number, { fault: SourceFault; what(topic: string): string }>> = {
  3: {
    fault: 'settings',
    what: (topic) => `There is no topic "${topic}" at these brokers. Create it, or give the name of one that is there.`,
  },
  17: { fault: 'settings', what: (topic) => `"${topic}" cannot be the name of a topic.` },
  29: {
    fault: 'denied',
    what: (topic) => `The user may not read the topic "${topic}": it needs READ and DESCRIBE on it.`,
  },
  31: { fault: 'denied', what: () => 'The user may not use these brokers.' },
  33: {
    fault: 'settings',
    what: () => 'The brokers do not offer this way to sign in: "sasl_mechanism" has to be one that they have enabled.',
  },
  34: {
    fault: 'denied',
    what: () => 'The brokers refuse to sign in here: "security_config" or "sasl_mechanism" is not what they expect.',
  },
  58: {
    fault: 'denied',
    what: () =>
      'The brokers refuse this user and password; see "security_config" and "sasl_mechanism" of the integration.',
  },
};

/** Errors of certificates, by Node.js's codes. */
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)|ALTNAME/;

interface Known {
  name: string;
  message: string;
  code?: unknown;
  type?: unknown;
  cause?: unknown;
}

export interface ErrorPlace {
  topic: string;
  /** What was given, for messages. */
  brokers: string;
  isTls: boolean;
  /** Whether it was served before, so that it is no matter of how to connect. */
  wasServed: boolean;
}

/** What an error of a broker, by its code, means. */
export function errorOfCode(code: number, { topic, brokers }: ErrorPlace): SourceError {
  const known = FAULTS[code];
  if (known !== undefined) return new SourceError(known.fault, known.what(topic));
  return new SourceError(
    'unreachable',
    `A broker of ${brokers} cannot serve the topic "${topic}" now (error ${code}).`,
  );
}

/** What an error of the client means. Its own messages name brokers and never hold a password. */
export function sourceErrorOf(error: unknown, place: ErrorPlace): unknown {
  if (error instanceof SourceError) return error;
  const chain = chainOf(error);
  const isOfClient = chain.some(({ name, code }) => name.startsWith('KafkaJS') || isSystemCode(code));
  if (!isOfClient) return error;
  for (const { name, code } of chain) {
    if (name === 'KafkaJSProtocolError' && typeof code === 'number') {
      return withCause(errorOfCode(code, place), error);
    }
    if (name === 'KafkaJSSASLAuthenticationError') return withCause(saslError(chain, place), error);
    if (name === 'KafkaJSServerDoesNotSupportApiKey') {
      return withCause(new SourceError('settings', `The brokers ${place.brokers} do not offer to sign in.`), error);
    }
    if (typeof code === 'string' && CERTIFICATE.test(code)) return withCause(certificateError(code, place), error);
  }
  return withCause(unreachable(chain, place), error);
}

function chainOf(error: unknown): Known[] {
  const chain: Known[] = [];
  for (let one = error; one instanceof Error && chain.length < 10; one = one.cause) chain.push(one);
  return chain;
}

function isSystemCode(code: unknown): code is string {
  return typeof code === 'string' && /^E[A-Z]+/.test(code);
}

function withCause(error: SourceError, cause: unknown): SourceError {
  error.cause = cause;
  return error;
}

function saslError(chain: readonly Known[], place: ErrorPlace): SourceError {
  const isMechanism = chain.some(({ message }) => message.includes('not supported by the server'));
  return errorOfCode(isMechanism ? 33 : 58, place);
}

function certificateError(code: string, { brokers }: ErrorPlace): SourceError {
  return new SourceError(
    'settings',
    `The certificate of a broker of ${brokers} is not trusted (${code}): give the certificate of who signed it as "ca_certificate", and the name that it is for in "bootstrap_servers".`,
  );
}

function unreachable(chain: readonly Known[], { brokers, isTls, wasServed }: ErrorPlace): SourceError {
  const code = chain.map((one) => one.code).find(isSystemCode);
  // What a broker does that expects something else.
  const isEarly = !wasServed && (code === undefined || code === 'ECONNRESET' || code === 'EPROTO');
  const hint = `perhaps it ${isTls ? 'does not speak TLS ("tls": false)' : 'needs TLS ("tls": true)'} or needs a user ("security_config")`;
  const why = `${code ?? chain.at(-1)?.message ?? 'unknown'}${isEarly ? `; ${hint}` : ''}`;
  return new SourceError('unreachable', `A broker of ${brokers} does not answer: ${why}.`);
}
