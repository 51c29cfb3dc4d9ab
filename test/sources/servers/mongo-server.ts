import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { command, installed, type Server, start } from './server.ts';

/*
 * mongo-java-server, of Maven: all BSON types, `find` in order of `_id`, in memory. Its change streams are wrong, and it has no
 * replica sets: what stands before it (mongo-replica.ts) has those.
 */

const VERSION = '1.47.0';
const JAVA = process.env['COLLOQUY_TEST_JAVA'] ?? 'java';

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>x</groupId><artifactId>mongo</artifactId><version>1</version>
<dependencies><dependency><groupId>de.bwaldvogel</groupId><artifactId>mongo-java-server</artifactId><version>${VERSION}</version></dependency></dependencies>
</project>`;

// The driver asks for a newer version of the wire than the server says that it speaks.
const MAIN = `import de.bwaldvogel.mongo.*;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.util.*;
public class Main {
  public static void main(String[] args) throws Exception {
    MongoServer server = new MongoServer(new MemoryBackend().version(new MongoVersion() {
      public List<Integer> getVersionArray() { return List.of(7, 0, 0); }
      public int getWireVersion() { return 9; }
    }));
    server.bind("127.0.0.1", Integer.parseInt(args[0]));
    Thread.currentThread().join();
  }
}`;

/** Its libraries, from Maven, with a main class of our own. */
export const installMongoServer = () =>
  installed(`mongo-java-server-${VERSION}`, async (made) => {
    await writeFile(join(made, 'pom.xml'), POM);
    await writeFile(join(made, 'Main.java'), MAIN);
    await command('mvn', [
      '-q',
      '-B',
      '-f',
      join(made, 'pom.xml'),
      'dependency:copy-dependencies',
      '-DincludeScope=runtime',
      `-DoutputDirectory=${join(made, 'libs')}`,
    ]);
    await command(`${JAVA}c`, ['-cp', 'libs/*', 'Main.java'], { cwd: made });
  });

export async function startMongoServer(port: number, folder: string): Promise<Server> {
  const home = await installMongoServer();
  const args = ['-Xmx768m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', `${home}/libs/*:${home}`, 'Main'];
  return start(JAVA, [...args, String(port)], { port, folder });
}
