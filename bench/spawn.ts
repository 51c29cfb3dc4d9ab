import { spawn } from 'node:child_process';
import { INITIALIZE, INITIALIZED, LIST } from './handshake.ts';
import { interleaved, median, ms, printHeading, printRow } from './measure.ts';

/** Starts a process and ends it; with `talk`, asks it for its tools in between. */
function start(args: readonly string[], env: NodeJS.ProcessEnv, talk: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
    child.once('error', reject);
    if (!talk) {
      child.once('exit', () => resolve());
      return;
    }
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
        const message = JSON.parse(text.slice(0, end));
        text = text.slice(end + 1);
        if (message.id === 1) child.stdin.write(`${JSON.stringify(INITIALIZED)}\n${JSON.stringify(LIST)}\n`);
        if (message.id !== 2) continue;
        if (!Array.isArray(message.result?.tools)) reject(new Error(`no tools: ${JSON.stringify(message)}`));
        child.kill('SIGKILL');
        resolve();
      }
    });
    child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
  });
}

/** From spawn to the answer of tools/list, compared with Node.js alone and with a hello-world server. */
export async function benchSpawn(bin: string, hello: string, env: NodeJS.ProcessEnv): Promise<void> {
  const times = await interleaved(11, {
    node: () => start(['-e', '0'], env, false),
    hello: () => start([hello], env, true),
    colloquy: () => start([bin], env, true),
  });
  const ours = median(times.colloquy);
  printHeading('(a) spawn to tools/list', 'colloquy', 'baseline');
  printRow('against `node -e 0`', ms(ours), ms(median(times.node)), ours / median(times.node));
  printRow(
    'against a hello-world server of the same SDK',
    ms(ours),
    ms(median(times.hello)),
    ours / median(times.hello),
  );
}
