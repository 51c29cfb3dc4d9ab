import { existsSync } from 'node:fs';
import { BUILD, VERSION } from '../../config.ts';
import type { About } from '../../contract/about.ts';
import { ApiError } from '../../contract/errors.ts';
import { ROLES } from '../../contract/row.ts';
import { messageOf } from '../../contract/text.ts';
import type { Client } from '../../http/client.ts';
import { refusedCertificate } from '../../http/transport.ts';
import { isOlder, isOutdated } from '../../local/version.ts';
import { type Hidden, hiddenTools, offeredTools } from '../../mcp/offer.ts';
import type { Config } from '../../settings.ts';
import { requireLocalService } from '../connect.ts';
import { findLambdaTools, lambdaToolsText } from '../lambda-tools.ts';
import { plainText } from '../log.ts';
import { offerOf } from '../offer.ts';
import { forPerson, withService } from '../person.ts';
import { lakeOf } from '../serve/lake-settings.ts';
import { absentFolder, allowedFolders, clockFinding, isServed, keyFileFinding, localFindings } from './doctor-local.ts';
import type { Finding } from './finding.ts';
import { sourceFinding } from './source-finding.ts';

export interface Diagnosis {
  findings: Finding[];
  /** Tools that are not offered to an assistant, with the reasons. */
  hidden: Hidden[];
}

/** The oldest Node.js that this program supports. */
const NODE_MIN = '20.19.0';
/** Enough for a local service to start; a remote one that takes longer is of no use in a chat. */
const WAIT_MS = 20_000;

/** Prints what works and what does not, and which tools are hidden. The exit code is 1 if something is broken. */
export async function doctor(
  { config, json, clockIsRight }: { config: Config; json: boolean; clockIsRight: boolean },
  bin: string,
): Promise<number> {
  if (clockIsRight && (await confirmClock(config, bin)) !== 0) return 1;
  const diagnosis = await diagnose(config, bin, false);
  const isBroken = diagnosis.findings.some(({ state }) => state === 'fail');
  const text = json ? JSON.stringify({ ok: !isBroken, ...diagnosis }, null, 2) : report(diagnosis);
  process.stdout.write(`${text}\n`);
  return isBroken ? 1 : 0;
}

/** Tells the local service that the clock is right. Errors go to standard error. */
function confirmClock(config: Config, bin: string): Promise<number> {
  return forPerson(async () => {
    requireLocalService(config, 'The clock is confirmed');
    await withService(config, bin, (client) => client.confirmClock({}));
    return 0;
  });
}

/**
 * Runs all checks. A local service that is not running is started, as an assistant would start it. If its data folder
 * does not exist, the result says so or, with `isToMake`, the folder is created.
 */
export async function diagnose(config: Config, bin: string, isToMake = true): Promise<Diagnosis> {
  const findings: Finding[] = [program(), ...(await allowedFolders(config)), ...auditFindings(config)];
  const lake = await lakeOf(config);
  const isAbsent = config.url === undefined && !isToMake && !existsSync(config.dataDir);
  const absent = isAbsent && lake === undefined ? await absentFolder(config.dataDir) : undefined;
  if (absent !== undefined) findings.push(absent);
  else if (config.url === undefined && !(isAbsent && lake !== undefined))
    findings.push(...(await localFindings(config.dataDir)));
  else if (config.apiKeyFile !== undefined) findings.push(await keyFileFinding(config.apiKeyFile));
  if (lake !== undefined) findings.push(...(await (await import('./lake-finding.ts')).lakeFindings(lake)));
  // A node of a lake is not started for whoever calls.
  const isThere = absent === undefined && (lake === undefined || (!isAbsent && (await isServed(config.dataDir))));
  const isUsable = isThere && findings.every(({ state }) => state !== 'fail');
  const { roles, ...service } = isUsable ? await lookAtService(config, bin) : { findings: [], roles: undefined };
  findings.push(...service.findings);
  const offer = { ...offerOf(config), roles };
  const hidden = hiddenTools(offer);
  findings.push(offeredFinding(offeredTools(offer).size, hidden));
  return { findings, hidden };
}

function program(): Finding {
  const built = BUILD === undefined ? '' : ` (built at ${BUILD})`;
  const detail = `colloquy ${VERSION}${built}, Node.js ${process.version}, ${process.platform} ${process.arch}`;
  if (!isOlder(process.versions.node, NODE_MIN)) return { name: 'program', state: 'ok', detail };
  return { name: 'program', state: 'fail', detail, remedy: `Install Node.js ${NODE_MIN} or newer.` };
}

/** What an assistant may read beyond data is worth a line. */
function auditFindings({ auditTool, audit }: Config): Finding[] {
  if (!auditTool) return [];
  const detail = 'an assistant may read the record of the calls of all chats (--audit-tool on)';
  if (audit) return [{ name: 'audit', state: 'ok', detail }];
  const remedy = 'Nothing new is put on record (--audit off), so it reads only what is there already.';
  return [{ name: 'audit', state: 'warn', detail, remedy }];
}

async function lookAtService(
  config: Config,
  bin: string,
): Promise<{ findings: Finding[]; roles: string[] | undefined }> {
  const where = config.url === undefined ? 'the local service' : `"${config.url}"`;
  try {
    return await withService({ ...config, requestTimeoutMs: WAIT_MS }, bin, (client) =>
      lookThrough(client, where, config),
    );
  } catch (error) {
    return { findings: [failure(error, where, config)], roles: undefined };
  }
}

async function lookThrough(client: Client, where: string, config: Config) {
  const { url } = config;
  const startedAt = performance.now();
  const user = await client.getCurrentUser({});
  const elapsedMs = Math.round(performance.now() - startedAt);
  const about = await aboutOf(client);
  const answers = `${where} answers (${elapsedMs} ms)`;
  const findings = [
    serviceFinding(answers, about, url === undefined),
    keyFinding(user.email, user.roles),
    clockFinding(about?.time, about?.clock_before),
    await lambdaFinding(client, config),
    await sourceFinding(client, config).catch(() => undefined),
  ];
  return { findings: findings.filter((one) => one !== undefined), roles: user.roles ?? undefined };
}

const LEFT_NAMED_MAX = 10;

/** Which lambdas are offered as tools; undefined if the settings name no tag. */
async function lambdaFinding(client: Client, config: Config): Promise<Finding | undefined> {
  const name = 'lambdas';
  try {
    const found = await findLambdaTools(config, async () => client);
    if (found === undefined) return undefined;
    const { tools, left } = found;
    const detail = lambdaToolsText(found);
    if (left.length > 0) {
      const named = left.slice(0, LEFT_NAMED_MAX).map((one) => `${one.lambda}: ${one.why}`);
      const more = left.length > named.length ? [`${left.length - named.length} more`] : [];
      return { name, state: 'warn', detail, remedy: `Left out: ${[...named, ...more].join('; ')}.` };
    }
    if (tools.size > 0) return { name, state: 'ok', detail: `${detail}: ${[...tools.keys()].join(', ')}` };
    const remedy = 'Tag a version (tag_lambda_version), or correct --lambda-tools.';
    return { name, state: 'warn', detail, remedy };
  } catch (error) {
    const remedy = 'The server starts without tools of lambdas as long as this is so.';
    return { name, state: 'warn', detail: `no tools are made of lambdas: ${messageOf(error)}`, remedy };
  }
}

/** The service's `getAbout`; undefined for another implementation of the API, which has no such endpoint. */
async function aboutOf(client: Client): Promise<About | undefined> {
  try {
    return await client.getAbout({});
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') return undefined;
    throw error;
  }
}

function serviceFinding(answers: string, about: About | undefined, isLocal: boolean): Finding {
  const name = 'service';
  if (about === undefined) {
    if (isLocal) {
      const remedy =
        'It is an older colloquy: end it ("colloquy stop", or where "colloquy serve" runs), and call again.';
      return { name, state: 'warn', detail: `${answers}, which lacks what this copy offers`, remedy };
    }
    const detail = `${answers}, and tells nothing of itself: no colloquy, or an older one; only the plain API is there`;
    return { name, state: 'ok', detail };
  }
  const version = about.version ?? 'unknown';
  const detail = `${answers}, version ${version}`;
  const own = { version: VERSION, build: BUILD };
  if (version === VERSION && isOutdated({ version, build: about.build ?? undefined }, own)) {
    const built = about.build == null ? 'without a build time' : `built at ${about.build}`;
    const remedy = `This copy was built at ${BUILD}: it may offer what the service cannot do. Update and restart the service.`;
    return { name, state: 'warn', detail: `${detail} ${built}`, remedy };
  }
  if (lineOf(version) === lineOf(VERSION)) return { name, state: 'ok', detail };
  const remedy = isOlder(VERSION, version)
    ? `This copy is ${VERSION}: update it, so that it knows what the service can do.`
    : `This copy is ${VERSION}: update the service, so that it can do what is offered here.`;
  return { name, state: 'warn', detail, remedy };
}

/** The release line of a version; versions of one line differ only in fixes. */
function lineOf(version: string): string {
  return version.split('.').slice(0, 2).join('.');
}

function keyFinding(email: string | null | undefined, roles: readonly string[] | null | undefined): Finding {
  const detail = `it belongs to ${email ?? 'a user without e-mail'}, with ${roles?.join(', ') || 'no role'}`;
  if (roles?.some((role) => (ROLES as readonly string[]).includes(role)))
    return { name: 'API key', state: 'ok', detail };
  const remedy = `Nothing is hidden by role, as none of ${ROLES.join(', ')} is among them; calls may be refused.`;
  return { name: 'API key', state: 'warn', detail, remedy };
}

function failure(error: unknown, where: string, { url }: Config): Finding {
  const detail = messageOf(error);
  if (error instanceof ApiError && (error.code === 'unauthorized' || error.code === 'forbidden')) {
    const remedy =
      url === undefined
        ? 'Run "colloquy stop": the service makes a new admin key when it starts.'
        : 'Set COLLOQUY_API_KEY to a valid key of that service; its IP allowlist may refuse this address, too.';
    return { name: 'API key', state: 'fail', detail, remedy };
  }
  const fault = refusedCertificate(error);
  if (fault !== undefined) {
    const what = detail.replace(fault.remedy, '').trim();
    return { name: 'certificate', state: 'fail', detail: what, remedy: fault.remedy };
  }
  const remedy =
    url === undefined
      ? localRemedy(detail)
      : 'Check COLLOQUY_URL, and that the service runs and can be reached from this machine.';
  return { name: 'service', state: 'fail', detail: `${where} cannot be used: ${detail}`, remedy };
}

function localRemedy(detail: string): string {
  // The service's own advice about damaged files.
  if (/colloquy restore/.test(detail)) return DAMAGED;
  return 'Read service.log in the data folder; "colloquy stop" makes the next call start the service anew.';
}

const DAMAGED =
  'Starting the service anew does not mend a damaged file: "colloquy restore <folder>" puts a backup in its place, and moves what is there aside.';

function offeredFinding(offered: number, hidden: readonly Hidden[]): Finding {
  const name = 'tools';
  const detail = `${offered} of ${offered + hidden.length} are offered`;
  if (offered > 0) return { name, state: 'ok', detail };
  return { name, state: 'fail', detail, remedy: 'Widen --toolsets, --profile or --read-only: they leave nothing.' };
}

/** The diagnosis as text: a line per finding, then the hidden tools by reason. */
function report({ findings, hidden }: Diagnosis): string {
  const lines = findingLines(findings);
  for (const why of new Set(hidden.map((one) => one.why))) {
    const names = hidden.filter((one) => one.why === why).map(({ tool }) => tool);
    lines.push('', `Hidden, since ${why}:`, `  ${names.join(', ')}`);
  }
  return lines.join('\n');
}

/** Findings as text: a line for each, and one for each remedy. */
export function findingLines(findings: readonly Finding[]): string[] {
  return findings.flatMap(({ name, state, detail, remedy }) => [
    `${state.padEnd(4)}  ${name.padEnd(11)}  ${plainText(detail)}`,
    ...(remedy === undefined ? [] : [`${' '.repeat(19)}→ ${plainText(remedy)}`]),
  ]);
}
