import { contract } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import { nearestNames, toApiError } from '../errors.ts';
import type { Fenced } from '../fence.ts';
import { type DocumentFile, FILE_NOT_FOUND } from './file.ts';
import { handTool } from './hand-tool.ts';
import { endsCall, type FileFacts, insideOf, type Load, type LoadedFile, newLoad, newShared } from './load.ts';
import { presentLoads } from './load-answer.ts';
import { type LoadInput, loadShape, requireUse, underListedNames } from './load-arguments.ts';
import { lookAt, type Planned, pathsIn, planOf } from './load-plan.ts';
import { openAs, previewOf } from './load-preview.ts';
import { run } from './load-run.ts';
import { nextStepFor } from './next-steps.ts';
import type { Tool, ToolContext } from './tool.ts';

/**
 * Loads files on the operator's machine: documents that a model would otherwise have to write out as arguments, although
 * it never needs to see them. The answer has what a model needs to write SQL.
 */

const NAME = 'load_file';

/** Loads the documents of files into collections; what the service has stored stays, whatever happens later. */
async function loadFile(context: ToolContext, input: LoadInput): Promise<Fenced> {
  const { openFile, findFiles } = context.means;
  if (openFile === undefined || findFiles === undefined) {
    throw new ApiError('invalid_input', `Cannot call ${NAME}: ${ABSENT}.`);
  }
  const { files, leftOut } = await findFiles({ paths: pathsIn(input.path), format: input.format });
  requireUse(input, files);
  const plan = planOf(files, input);
  await lookAt(context, plan, input);
  if (input.dry_run === true) return previewOf(context, { plan, leftOut }, input);
  const loaded = await loadAll(context, plan, input);
  return presentLoads(context, { plan, loaded, leftOut }, input);
}

/** Loads file after file, until one stops. Rejects if nothing was done. */
async function loadAll(context: ToolContext, plan: readonly Planned[], input: LoadInput): Promise<LoadedFile[]> {
  const shared = newShared();
  const loaded: LoadedFile[] = [];
  const bytes = plan.reduce((sum, { found }) => sum + found.bytes, 0);
  let [bytesBefore, insideBefore] = [0, 0];
  const tell = (bytesRead: number, inside: number) => {
    const all = insideBefore + inside;
    context.progress(
      bytesBefore + bytesRead,
      Math.max(bytes, bytesBefore + bytesRead),
      `${all.toLocaleString('en-US')} documents are in`,
    );
  };
  tell(0, 0);
  for (const [index, { found, target, refused }] of plan.entries()) {
    const isLast = plan.findLastIndex((one) => one.target === target) === index;
    const isApart = plan.length > 1 && (isLast || refused !== undefined || input.on_error === 'skip');
    const load = newLoad(target, shared, plan.length > 1 ? found.name : undefined, isApart);
    const one: LoadedFile = { found, load, facts: undefined };
    try {
      if (refused !== undefined) throw refused;
      one.facts = await loadOne(context, one, { ...input, skip: index === 0 ? (input.skip ?? 0) : 0 }, tell);
    } catch (error) {
      const { code, message } = toApiError(error);
      const isBroken = code === 'invalid_input' || code === 'not_found';
      if (loaded.length === 0 && !(isBroken && isApart)) throw plan.length === 1 ? error : named(error, found.name);
      load.stopped = { why: message, isUnsure: false, isBroken };
    }
    loaded.push(one);
    if (endsCall(load)) break;
    bytesBefore += found.bytes;
    insideBefore += insideOf(load);
  }
  return loaded;
}

type Tell = Parameters<typeof run>[2]['tell'];

async function loadOne(
  { client, signal, means }: ToolContext,
  { found, load }: { found: Planned['found']; load: Load },
  input: LoadInput,
  tell: Tell,
): Promise<FileFacts> {
  const file = await openAs({ means, signal }, found, input);
  try {
    await run(file, load, { client, signal, tell, input });
    return factsOf(file, load);
  } finally {
    await file.close();
  }
}

function factsOf(file: DocumentFile, { separator }: Load): FileFacts {
  const { path, format, bytes, unit, list, lists, docTag, sheet, sheets } = file;
  return {
    path,
    format,
    bytes,
    unit,
    ...(separator === undefined ? {} : { separator }),
    ...(list === undefined ? {} : { list }),
    ...(lists === undefined ? {} : { lists }),
    docTag,
    sheet,
    sheets,
    nulled: file.unwritable?.() ?? 0,
    asText: file.asText?.() ?? [],
    warnings: file.warnings?.() ?? [],
  };
}

/** The error of one file of several, with its name. */
function named(error: unknown, name: string): ApiError {
  const { code, message, details } = toApiError(error);
  return new ApiError(code, `${JSON.stringify(name)}: ${message}`, { ...details, cause: error });
}

const ABSENT = 'the operator allows no folder or host to load files from (--allow-dirs, --allow-hosts)';
const REMEDY =
  '--allow-dirs (COLLOQUY_ALLOW_DIRS) names the folders that files may be read from, --allow-hosts (COLLOQUY_ALLOW_HOSTS) hosts of https URLs';
const MISSING =
  'Give "path" relative to a folder that the operator allows (--allow-dirs), or as an absolute path below one; a human may have to put the file there.';

/** The tool; built at its first use, since schemas take time. */
export function loadFileTool(): Tool {
  return handTool<LoadInput>({
    name: NAME,
    effect: 'update',
    role: 'member',
    toolset: 'files',
    needs: { means: 'openFile', absent: ABSENT, remedy: REMEDY },
    title: 'Load files',
    description:
      "Add the documents of files on the server's machine to collections, and list their fields. A known _id is replaced.",
    shape: loadShape(),
    understand: underListedNames,
    output: {
      complete: { type: 'boolean' },
      counts: { type: 'object' },
      failed: { type: 'array' },
    },
    run: loadFile,
    next: (error) =>
      error.details.messageKey === FILE_NOT_FOUND ? MISSING : nextStepFor(contract.addDocuments, error),
    nearest: ({ client, signal }, input, error) => nearestNames(client, contract.addDocuments, input, error, signal),
  });
}
