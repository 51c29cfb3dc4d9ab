import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { command, dataFolder, freePort, installed, start } from './server.ts';

/** Apicurio, which speaks as Confluent's schema registry does; what it knows is in memory. */
export interface RegistryServer {
  readonly url: string;
  readonly port: number;
  /** Adds a schema, which may use others of their subjects; returns its number. */
  add(
    subject: string,
    schema: unknown,
    references?: { name: string; subject: string; version: number }[],
  ): Promise<number>;
  remove(): Promise<void>;
}

const VERSION = '3.3.3';
/** It needs Java 21 or newer. */
const JAVA = process.env['JAVA_NEW'] ?? '/usr/lib/jvm/temurin-25-jdk-amd64/bin/java';

export async function startSchemaRegistry(): Promise<RegistryServer> {
  const folder = await installed('apicurio', async (to) => {
    const artifact = `io.apicurio:apicurio-registry-app:${VERSION}:tar.gz:all`;
    const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy';
    await command('mvn', ['-q', '-B', copy, `-Dartifact=${artifact}`, `-DoutputDirectory=${to}`], { cwd: to });
    await command('tar', ['xzf', `apicurio-registry-app-${VERSION}-all.tar.gz`], { cwd: to });
    await rm(join(to, `apicurio-registry-app-${VERSION}-all.tar.gz`));
  });
  const data = await dataFolder('registry');
  const [port, management] = [await freePort(), await freePort()];
  const args = [
    ['-Xmx384m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Dquarkus.log.level=WARN'],
    ['-Dquarkus.http.host=127.0.0.1', `-Dquarkus.http.port=${port}`],
    ['-Dquarkus.management.host=127.0.0.1', `-Dquarkus.management.port=${management}`],
    ['-jar', join(folder, 'quarkus-run.jar')],
  ];
  const server = await start(JAVA, args.flat(), { port, folder: data });
  const url = `http://127.0.0.1:${port}/apis/ccompat/v7`;
  return {
    url,
    port,
    async add(subject, schema, references = []) {
      const answer = await fetch(`${url}/subjects/${subject}/versions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ schema: JSON.stringify(schema), references }),
      });
      if (!answer.ok) throw new Error(`the registry says ${answer.status}: ${await answer.text()}`);
      return ((await answer.json()) as { id: number }).id;
    },
    async remove() {
      await server.stop('SIGKILL');
      await rm(data, { recursive: true, force: true });
    },
  };
}
