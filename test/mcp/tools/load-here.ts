import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { fileMeans } from '../../../src/cli/means.ts';
import { type Client, createClient } from '../../../src/http/client.ts';
import { callTool } from '../../../src/mcp/call.ts';
import { startTestService, type TestService } from '../../service/harness.ts';

/** A service for the tests of a file, and a folder of its own whose files `load_file` may read. */
export function loadingHere() {
  let service: TestService;
  let client: Client;
  let root: string;
  beforeAll(async () => {
    service = await startTestService();
    client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
    root = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-load-')));
  });
  afterAll(async () => {
    await client.close();
    await service.remove();
    rmSync(root, { recursive: true, force: true });
  });
  const pathOf = (path: string) => join(root, path);
  async function call(name: string, args: Record<string, unknown>, more: object = {}) {
    const means = fileMeans({ dataDir: pathOf('none'), allowDirs: [root] });
    const confirm = async () => true;
    const { structured, text, isError } = await callTool({ client, name, args, means, confirm, ...more } as never);
    return { data: structured as Record<string, never>, text, next: String(structured['next'] ?? ''), isError };
  }
  return {
    pathOf,
    call,
    write(path: string, content: string | Uint8Array): void {
      mkdirSync(dirname(pathOf(path)), { recursive: true });
      writeFileSync(pathOf(path), content);
    },
    rowsOf: async (query: string): Promise<unknown> => (await call('run_query', { query })).data['rows'],
  };
}
