// Drives the npm client `@rockset/client` over its endpoints; prints a line per call: its operation, and what is wrong.
// `node node.mjs <url> <key> <folder of the installed package>`
import { createRequire } from 'node:module';
import { isDeepStrictEqual } from 'node:util';

const [url, key, folder] = process.argv.slice(2);
const { default: configure } = createRequire(`${folder}/`)('@rockset/client');
const [WS, COLL] = ['npm', 'orders'];
const rs = configure(key, url);

/** `expected` is what `read` has to find in the answer; a call that this version of the client lacks is left out. */
async function step(operation, call, read = () => undefined, expected = undefined) {
  let answer;
  let wrong;
  try {
    answer = await call();
    const found = read(answer);
    if (!isDeepStrictEqual(found, expected)) wrong = `${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`;
  } catch (error) {
    if (/is not a function/.test(error?.message)) return undefined;
    wrong = error?.message ?? JSON.stringify(error);
  }
  console.log(JSON.stringify({ call: operation, wrong: wrong?.replace(/\s+/g, ' ').slice(0, 300) ?? null }));
  return answer;
}

const has = (wanted) => (answer) => answer.data.some(({ name }) => name === wanted);

await step(
  'getOrganization',
  () => rs.orgs.getOrganization(),
  ({ data }) => typeof data.id,
  'string',
);

await step(
  'createWorkspace',
  () => rs.workspaces.createWorkspace({ name: WS }),
  ({ data }) => data.name,
  WS,
);
await step(
  'getWorkspace',
  () => rs.workspaces.getWorkspace(WS),
  ({ data }) => data.collection_count,
  0,
);
await step('listWorkspaces', () => rs.workspaces.listWorkspaces(), has(WS), true);
await step(
  'listChildWorkspaces',
  () => rs.workspaces.childWorkspaces(WS),
  ({ data }) => data,
  [],
);

const collection = { name: COLL, retention_secs: 86_400 * 365, event_time_info: { field: 'at' } };
await step(
  'createCollection',
  () => rs.collections.createCollection(WS, collection),
  ({ data }) => data.status,
  'CREATED',
);
await step(
  'getCollection',
  () => rs.collections.getCollection(WS, COLL),
  ({ data }) => data.status,
  'READY',
);
await step('listCollections', () => rs.collections.listCollections(), has(COLL), true);
await step(
  'listWorkspaceCollections',
  () => rs.collections.workspaceCollections(WS),
  ({ data }) => data.map(({ stats }) => stats.doc_count),
  [0],
);

const statuses = ({ data }) => [...new Set(data.map(({ status }) => status))];
const data = Array.from({ length: 10 }, (_, n) => ({ _id: `${n}`, n, kind: n % 2 === 1 ? 'odd' : 'even' }));
const patch = [{ op: 'REPLACE', path: '/kind', value: 'changed' }];
await step('addDocuments', () => rs.documents.addDocuments(WS, COLL, { data }), statuses, ['ADDED']);
const reasons = ({ data: rows }) => rows.map(({ error }) => error.type);
await step('addDocuments', () => rs.documents.addDocuments(WS, COLL, { data: [{ _id: 5 }] }), reasons, [
  'INVALIDINPUT',
]);
await step('patchDocuments', () => rs.documents.patchDocuments(WS, COLL, { data: [{ _id: '1', patch }] }), statuses, [
  'PATCHED',
]);
await step('deleteDocuments', () => rs.documents.deleteDocuments(WS, COLL, { data: [{ _id: '9' }] }), statuses, [
  'DELETED',
]);

const query = `SELECT kind, count(*) AS n FROM ${WS}.${COLL} WHERE n >= :least GROUP BY kind ORDER BY kind`;
const rows = [
  { kind: 'changed', n: 1 },
  { kind: 'even', n: 5 },
  { kind: 'odd', n: 3 },
];
const parameters = [{ name: 'least', type: 'int', value: '0' }];
const results = (answer) => answer.results;
await step('runQuery', () => rs.queries.query({ sql: { query, parameters } }), results, rows);
// This client throws what is in query_errors.
await step(
  'runQuery',
  () => rs.queries.query({ sql: { query, parameters, default_row_limit: 2 } }),
  results,
  rows.slice(0, 2),
);
await step(
  'validateQuery',
  () => rs.queries.validate({ sql: { query, parameters } }),
  (answer) => answer.parameters,
  ['least'],
);

const collections = [`${WS}.${COLL}`];
await step(
  'createAlias',
  () => rs.aliases.createAlias(WS, { name: 'current', collections }),
  (a) => a.data.name,
  'current',
);
await step(
  'getAlias',
  () => rs.aliases.getAlias(WS, 'current'),
  (a) => a.data.collections,
  collections,
);
await step('listAliases', () => rs.aliases.listAliases(), has('current'), true);
await step(
  'listWorkspaceAliases',
  () => rs.aliases.workspaceAliases(WS),
  (a) => a.data.length,
  1,
);
await step(
  'listCollectionAliases',
  () => rs.collections.listAliasesForCollection(WS, COLL),
  (a) => a.data.length,
  1,
);
await step(
  'listAliasLambdas',
  () => rs.aliases.listQueryLambdasWithAlias(WS, 'current'),
  (a) => a.data,
  [],
);
await step(
  'updateAlias',
  () => rs.aliases.updateAlias(WS, 'current', { collections, description: 'e' }),
  (a) => a.data.description,
  'e',
);
await step(
  'deleteAlias',
  () => rs.aliases.deleteAlias(WS, 'current'),
  (a) => a.data.name,
  'current',
);

const lambdas = rs.queryLambdas;
const sql = { query, default_parameters: parameters };
const made = await step(
  'createLambda',
  () => lambdas.createQueryLambda(WS, { name: 'kinds', sql, is_public: false }),
  (a) => a.data.state,
  'ACTIVE',
);
const version = made?.data.version;
await step(
  'createLambdaVersion',
  () => lambdas.updateQueryLambda(WS, 'kinds', { sql, description: 'e' }),
  (a) => a.data.description,
  'e',
);
await step(
  'createLambdaVersion',
  () => lambdas.updateQueryLambda(WS, 'other', { sql }, true),
  (a) => a.data.name,
  'other',
);
await step(
  'tagLambdaVersion',
  () => lambdas.createQueryLambdaTag(WS, 'kinds', { tag_name: 'prod', version }),
  (a) => a.data.tag_name,
  'prod',
);
await step(
  'getLambdaTag',
  () => lambdas.getQueryLambdaTagVersion(WS, 'kinds', 'prod'),
  (a) => a.data.version.version,
  version,
);
await step(
  'listLambdaTags',
  () => lambdas.listQueryLambdaTags(WS, 'kinds'),
  (a) => a.data.map((tag) => tag.tag_name),
  ['latest', 'prod'],
);
await step(
  'listTags',
  () => lambdas.listOrganizationTags(),
  (a) => a.data.length,
  2,
);
await step(
  'listTagVersions',
  () => lambdas.listQueryLambdaTagVersions('prod'),
  (a) => a.data.length,
  1,
);
await step(
  'getLambdaVersion',
  () => lambdas.getQueryLambdaVersion(WS, 'kinds', version),
  (a) => a.data.sql.query,
  query,
);
await step(
  'listLambdaVersions',
  () => lambdas.listQueryLambdaVersions(WS, 'kinds'),
  (a) => a.data.length,
  2,
);
await step('listLambdas', () => lambdas.listAllQueryLambdas(), has('kinds'), true);
await step(
  'listWorkspaceLambdas',
  () => lambdas.listQueryLambdasInWorkspace(WS),
  (a) => a.data.length,
  2,
);
await step(
  'listCollectionLambdas',
  () => rs.collections.listQueryLambdasInCollection(WS, COLL),
  (a) => a.data.length > 0,
  true,
);
await step(
  'executeLambdaVersion',
  () => lambdas.executeQueryLambda(WS, 'kinds', version, { parameters }),
  results,
  rows,
);
await step('executeLambdaVersion', () => lambdas.executeQueryLambda(WS, 'kinds', version), results, rows);
await step(
  'executeLambdaTag',
  () => lambdas.executeQueryLambdaByTag(WS, 'kinds', 'latest', { default_row_limit: 2 }),
  results,
  rows.slice(0, 2),
);
await step(
  'deleteLambdaTag',
  () => lambdas.deleteQueryLambdaTag(WS, 'kinds', 'prod'),
  (a) => a.data.tag_name,
  'prod',
);
await step(
  'deleteLambdaVersion',
  () => lambdas.deleteQueryLambdaVersion(WS, 'kinds', version),
  (a) => a.data.version,
  version,
);
for (const name of ['kinds', 'other'])
  await step(
    'deleteLambda',
    () => lambdas.deleteQueryLambda(WS, name),
    (a) => a.data.name,
    name,
  );

const email = 'npm@example.com';
await step(
  'createUser',
  () => rs.users.createUser({ email, roles: ['member'] }),
  (a) => a.data.roles,
  ['member'],
);
await step(
  'listUsers',
  () => rs.users.listUsers(),
  (a) => a.data.some((user) => user.email === email),
  true,
);
await step(
  'getCurrentUser',
  () => rs.users.getCurrentUser(),
  (a) => a.roles,
  ['admin'],
);
const { apikeys } = rs;
const given = await step(
  'createApiKey',
  () => apikeys.createApiKey({ name: 'npm' }),
  (a) => a.data.key.length,
  64,
);
if (given)
  await step(
    'getCurrentUser',
    () => configure(given.data.key, url).users.getCurrentUser(),
    (a) => a.roles,
    ['admin'],
  );
// Of the earlier version, which has a call for the keys of others.
const isEarlier = apikeys.listApiKeysAdmin !== undefined;
await step('listApiKeys', () => apikeys.listApiKeys('self'), has('npm'), true);
await step(
  'createUserApiKey',
  () => apikeys.createApiKeyAdmin({ name: 'theirs' }, email),
  (a) => a.data.key.length,
  64,
);
await step(
  'listUserApiKeys',
  () => (isEarlier ? apikeys.listApiKeysAdmin(email) : apikeys.listApiKeys(email)),
  (a) => a.data.length,
  isEarlier ? 1 : 0,
);
await step(
  'deleteUserApiKey',
  () => apikeys.deleteApiKeyAdmin('theirs', email),
  (a) => a.data.name,
  'theirs',
);
await step(
  'deleteApiKey',
  () => apikeys.deleteApiKey('npm', 'self'),
  (a) => a.data.name,
  'npm',
);
await step(
  'deleteUser',
  () => rs.users.deleteUser(email),
  (a) => a.data.email,
  email,
);

const s3 = { aws_role: { aws_role_arn: 'arn:aws:iam::1:role/r' } };
const integration = { name: 'npm-s3', description: 'd', s3 };
await step(
  'createIntegration',
  () => rs.integrations.createIntegration(integration),
  (a) => a.data.name,
  'npm-s3',
);
await step(
  'getIntegration',
  () => rs.integrations.getIntegration('npm-s3'),
  (a) => a.data.description,
  'd',
);
await step('listIntegrations', () => rs.integrations.listIntegrations(), has('npm-s3'), true);
await step(
  'deleteIntegration',
  () => rs.integrations.deleteIntegration('npm-s3'),
  (a) => a.data.name,
  'npm-s3',
);

// Of the later version only.
const virtualInstances = rs.virtualInstances ?? {};
const listed = await step(
  'listVirtualInstances',
  () => virtualInstances.listVirtualInstances(),
  (a) => a.data.length,
  1,
);
const { id, current_size: size } = listed?.data[0] ?? {};
await step(
  'getVirtualInstance',
  () => virtualInstances.getVirtualInstance(id),
  (a) => a.data.state,
  'ACTIVE',
);
await step(
  'updateVirtualInstance',
  () => virtualInstances.setVirtualInstance(id, { new_size: size }),
  (a) => a.data.current_size,
  size,
);

const failed = () =>
  rs.queries.query({ sql: { query: 'SELECT nothing FROM nowhere' } }).then(
    () => 'no error',
    (error) => error.type,
  );
await step('an error', failed, (type) => type, 'QUERY_ERROR');
await step(
  'deleteCollection',
  () => rs.collections.deleteCollection(WS, COLL),
  (a) => a.data.name,
  COLL,
);
await step(
  'deleteWorkspace',
  () => rs.workspaces.deleteWorkspace(WS),
  (a) => a.data.name,
  WS,
);
