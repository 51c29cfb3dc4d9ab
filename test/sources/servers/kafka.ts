import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { command, dataFolder, freePort, installed, type Server, start } from './server.ts';

/** Apache Kafka, one broker that is its own controller. */
export interface KafkaServer {
  readonly ports: Ports;
  /** The certificate, in PEM, of who signed the broker's. */
  readonly ca: string;
  /** From now on it answers clients of this id so slowly that they read no more bytes per second than that. */
  throttle(clientId: string, bytesPerSecond: number): Promise<void>;
  /** Ends it; `start` begins anew with what it had. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  start(): Promise<void>;
  /** Ends it and removes everything. */
  remove(): Promise<void>;
}

/** Without anything, twice; with SASL, with TLS, with both. */
interface Ports {
  plain: number;
  /** Its clients are told to use the port of the proxy that stands before it. */
  proxied: number;
  sasl: number;
  tls: number;
  saslTls: number;
}

/** Users of SASL: with PLAIN, and with SCRAM of both kinds. */
export const USERS = {
  plain: { api_key: 'alice', secret: 'alice-secret' },
  scram: { api_key: 'bob', secret: 'bob-secret' },
};

const VERSION = '4.4.0';
const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>test</groupId><artifactId>kafka</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${VERSION}</version></dependency>
<dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>2.24.3</version></dependency>
</dependencies></project>`;
const LOGGING = `Configuration:
  Appenders: { Console: { name: C, PatternLayout: { pattern: "%d %p %m (%c)%n" } } }
  Loggers: { Root: { level: WARN, AppenderRef: [ { ref: C } ] } }
`;
const THROTTLE = `import java.util.*;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.quota.*;
class Throttle {
  public static void main(String[] given) throws Exception {
    var entity = new ClientQuotaEntity(Map.of(ClientQuotaEntity.CLIENT_ID, given[1]));
    var change = new ClientQuotaAlteration.Op("consumer_byte_rate", Double.valueOf(given[2]));
    try (var admin = Admin.create(Map.of("bootstrap.servers", (Object) given[0]))) {
      admin.alterClientQuotas(List.of(new ClientQuotaAlteration(entity, List.of(change)))).all().get();
    }
  }
}
`;

/** Its libraries, from Maven. */
export const installKafka = () =>
  installed('kafka', async (to) => {
    await writeFile(join(to, 'pom.xml'), POM);
    const libs = `-DoutputDirectory=${join(to, 'libs')}`;
    await command('mvn', ['-q', '-B', 'dependency:copy-dependencies', '-DincludeScope=runtime', libs], { cwd: to });
  });

/** `proxy`: the port of what stands before the listener `proxied`. */
export async function startKafka(proxy: number): Promise<KafkaServer> {
  const folder = await installKafka();
  const data = await dataFolder('kafka');
  const [plain, proxied, sasl, tls, saslTls, controller] = await freePorts();
  const ports = { plain, proxied, sasl, tls, saslTls };
  const properties = join(data, 'server.properties');
  const logging = join(data, 'log4j2.yaml');
  await writeFile(logging, LOGGING);
  await makeCertificates(join(data, 'tls'));
  await writeFile(properties, propertiesOf(data, ports, controller, proxy));
  const java = ['-cp', join(folder, 'libs/*'), `-Dlog4j2.configurationFile=${logging}`];
  const scram = ['256', '512'].flatMap((bits) => [
    '--add-scram',
    `SCRAM-SHA-${bits}=[name=${USERS.scram.api_key},password=${USERS.scram.secret}]`,
  ]);
  const format = ['kafka.tools.StorageTool', 'format', '-t', 'h8vZ0bZkQxO0bq0V8yq0Aw', '-c', properties, ...scram];
  await command('java', [...java, ...format]);
  const limits = ['-Xms128m', '-Xmx384m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
  const begin = () =>
    start('java', [...limits, ...java, 'kafka.Kafka', properties], { port: ports.plain, folder: data });
  let server: Server = await begin();
  return {
    ports,
    ca: await readFile(join(data, 'tls/ca.pem'), 'utf8'),
    async throttle(clientId, bytesPerSecond) {
      const program = join(data, 'Throttle.java');
      await writeFile(program, THROTTLE);
      await command('java', [...java, program, `127.0.0.1:${plain}`, clientId, String(bytesPerSecond)]);
    },
    stop: (signal) => server.stop(signal),
    async start() {
      server = await begin();
    },
    async remove() {
      await server.stop('SIGKILL');
      await rm(data, { recursive: true, force: true });
    },
  };
}

async function freePorts() {
  const one = freePort;
  return [await one(), await one(), await one(), await one(), await one(), await one()] as const;
}

function propertiesOf(data: string, ports: Ports, controller: number, proxy: number): string {
  const { plain, proxied, sasl, tls, saslTls } = ports;
  const listeners = (second: number) => {
    const all = { PLAINTEXT: plain, PROXIED: second, SASL_PLAINTEXT: sasl, SSL: tls, SASL_SSL: saslTls };
    return Object.entries(all).map(([name, port]) => `${name}://127.0.0.1:${port}`);
  };
  const { plain: user } = USERS;
  const login = `org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="admin" user_${user.api_key}="${user.secret}";`;
  const scram = 'org.apache.kafka.common.security.scram.ScramLoginModule required;';
  const signIn = ['sasl_plaintext', 'sasl_ssl'].flatMap((name) => [
    `listener.name.${name}.plain.sasl.jaas.config=${login}`,
    `listener.name.${name}.scram-sha-256.sasl.jaas.config=${scram}`,
    `listener.name.${name}.scram-sha-512.sasl.jaas.config=${scram}`,
  ]);
  return `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:${controller}
listeners=${listeners(proxied)},CONTROLLER://127.0.0.1:${controller}
advertised.listeners=${listeners(proxy)}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
${signIn.join('\n')}
ssl.keystore.type=PEM
ssl.keystore.location=${data}/tls/keystore.pem
ssl.truststore.type=PEM
ssl.truststore.location=${data}/tls/ca.pem
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
log.dirs=${data}/log
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
auto.create.topics.enable=false
log.cleaner.dedupe.buffer.size=4194304
log.retention.check.interval.ms=500
log.initial.task.delay.ms=500
log.cleaner.backoff.ms=500
log.segment.delete.delay.ms=500
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=300
num.network.threads=2
num.io.threads=2
`;
}

/** One who signs, and what is signed: for `localhost` and 127.0.0.1. */
async function makeCertificates(folder: string): Promise<void> {
  if ((await stat(folder).catch(() => undefined)) !== undefined) return;
  await mkdir(folder);
  const openssl = (...args: string[]) => command('openssl', args, { cwd: folder });
  const key = ['-newkey', 'rsa:2048', '-nodes'];
  await openssl('req', '-x509', ...key, '-days', '30', '-subj', '/CN=test-ca', '-keyout', 'ca.key', '-out', 'ca.pem');
  await openssl('req', ...key, '-subj', '/CN=localhost', '-keyout', 'server.key', '-out', 'server.csr');
  await writeFile(join(folder, 'names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1');
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '30', '-extfile', 'names'];
  await openssl('x509', '-req', '-in', 'server.csr', ...signed, '-out', 'server.pem');
  const parts = ['server.key', 'server.pem', 'ca.pem'].map((name) => readFile(join(folder, name), 'utf8'));
  await writeFile(join(folder, 'keystore.pem'), (await Promise.all(parts)).join(''));
}
