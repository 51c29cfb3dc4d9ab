// Installs what the short forms of `npm run test:sources` and `npm run test:lake` need of package registries, all at once,
// so that CI can do so while it works on something else: `node --import ./scripts/ts-loader.mjs scripts/install-servers.mjs`.
// The suites install what is missing themselves.
import { installedExtensions } from '../test/lake/servers.ts';
import { installDynamodb } from '../test/sources/servers/dynamodb.ts';
import { installGcs } from '../test/sources/servers/gcs.ts';
import { installKafka } from '../test/sources/servers/kafka.ts';
import { installKinesis } from '../test/sources/servers/kinesis.ts';
import { installMongoServer } from '../test/sources/servers/mongo-server.ts';
import { installVersitygw } from '../test/sources/servers/s3.ts';
import { installSegmentLibrary } from '../test/sources/servers/segment-library.ts';

const installs = {
  installVersitygw,
  installedExtensions,
  installGcs,
  installKafka,
  installMongoServer,
  installDynamodb,
  installKinesis,
  installSegmentLibrary,
};
const outcomes = await Promise.allSettled(Object.values(installs).map((install) => install()));
for (const [index, name] of Object.keys(installs).entries()) {
  const { reason } = outcomes[index];
  if (reason === undefined) continue;
  console.error(`${name}: ${reason.message}`);
  process.exitCode = 1;
}
process.exit();
