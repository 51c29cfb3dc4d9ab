import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runScript } from '../../engine/script.ts';
import { makeFolder } from '../harness.ts';

test('an export that does not fit on the disk is an error, and leaves no file', async () => {
  const folder = await makeFolder();
  try {
    const exportsFolder = join(folder, 'exports');
    const { line } = await runScript(
      folder,
      `
      import { createResultFiles } from '../../src/service/results/result-files.ts';
      const read = async () => ({ columns: [{ name: 'text' }], rows: [['x'.repeat(3000)]], total: 1 });
      const results = { exportsFolder: ${JSON.stringify(exportsFolder)}, read };
      const files = createResultFiles({ results }, { warn() {} });
      const entry = { queryId: '00000000-0000-4000-8000-000000000000', owner: 'me', rows: 1, isWhole: true };
      const written = files.write(entry, 'csv', new AbortController().signal);
      console.log(await written.then(({ bytes }) => bytes, (error) => error.code ?? error.message));
      process.exit();`,
      2048,
    );
    expect(line).toBe('storage_full');
    expect(readdirSync(exportsFolder)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
