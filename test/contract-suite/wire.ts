/**
 * What the interface description says of an answer, stated here independently of the contract, so that a mistake in the contract is
 * found.
 */
export interface WireAnswer {
  envelope: 'data' | 'bare';
  isList: boolean;
  /** Keys of the result, or of each entry of the list; all of them are always present. */
  keys: readonly string[];
}

const QUERY = `query_id collections aliases column_fields results stats warnings query_errors status`;
const VALIDATION = 'collections aliases views name parameters';
const WRITE = 'data last_offset';
const API_KEY = 'created_at name key last_access_time state role created_by expiry_time';
const ALIAS = 'name description workspace creator_email collections state created_at modified_at';
const COLLECTION =
  'created_at created_by name description workspace status sources retention_secs field_mappings clustering_key aliases field_schemas inverted_index_group_encoding_options fieldPartitions';
const DELETED_COLLECTION =
  'name workspace status sources field_mappings clustering_key aliases field_schemas fieldPartitions';
const ENTRY = 'name description ip_address creator_email created_at';
const INTEGRATION =
  'name description collections created_by created_at s3 kinesis dynamodb redshift gcs segment kafka mongodb';
const ORGANIZATION =
  'deletionScheduledAt id created_at display_name company_name external_id service_user state clusters num_dedicated_pods';
const VERSION = 'workspace created_by created_at name version description sql collections state stats';
const LAMBDA = 'workspace last_updated_by last_updated name version_count collections latest_version';
const TAG = 'tag_name version';
const USER = 'created_at email first_name last_name roles state org invite_state orgs org_memberships';
const INSTANCE =
  'id name description state current_size desired_size current_type desired_type default_vi created_at created_by monitoring_enabled';
const WORKSPACE = 'created_at created_by name description collection_count';

function of(envelope: WireAnswer['envelope'], isList: boolean, keys: string, numbers: readonly number[]) {
  const answer: WireAnswer = { envelope, isList, keys: keys.split(' ').sort() };
  return numbers.map((number) => [number, answer] as const);
}
const bare = (keys: string, ...numbers: number[]) => of('bare', false, keys, numbers);
const one = (keys: string, ...numbers: number[]) => of('data', false, keys, numbers);
const list = (keys: string, ...numbers: number[]) => of('data', true, keys, numbers);

/** By the endpoint's number. */
export const WIRE: ReadonlyMap<number, WireAnswer> = new Map([
  ...bare(QUERY, 1),
  ...bare(`${QUERY} query_lambda_path`, 41, 46),
  ...bare(VALIDATION, 2),
  ...bare(WRITE, 3, 4, 5),
  ...one(API_KEY, 6, 7, 8, 9),
  ...list(API_KEY, 10, 11),
  ...one(ALIAS, 12, 13, 14, 15),
  ...list(ALIAS, 17, 18, 22),
  ...list(LAMBDA, 16, 49, 50),
  ...one(COLLECTION, 19),
  ...one(DELETED_COLLECTION, 20),
  ...one(`${COLLECTION} stats`, 21),
  ...list(`${COLLECTION} stats`, 24, 25),
  ...list(VERSION, 23, 38, 48),
  ...one(ENTRY, 26, 27, 28),
  ...list(ENTRY, 29),
  ...one(INTEGRATION, 30, 31, 32),
  ...list(INTEGRATION, 33),
  ...one(ORGANIZATION, 34),
  ...one(VERSION, 35, 37, 39, 40),
  ...one(LAMBDA, 36),
  ...one(TAG, 42, 44, 45),
  ...list(TAG, 43),
  ...list('tag_name', 47),
  ...one(USER, 51, 52),
  ...bare(USER, 53),
  ...list(USER, 54),
  ...one(INSTANCE, 55, 57),
  ...list(INSTANCE, 56),
  ...one(WORKSPACE, 58, 59, 60),
  ...list(WORKSPACE, 61, 62),
]);

/** Keys inside results, where the interface description lists them: by their place in the result. */
const INNER_OF: readonly [numbers: readonly number[], keys: Readonly<Record<string, string>>][] = [
  [[1, 41, 46], { stats: 'elapsed_time_ms throttled_time_micros', column_fields: 'name type' }],
  [[3, 4, 5], { data: '_collection _id status error patch_id' }],
  [[35, 37, 38, 39, 40], { sql: 'query default_parameters' }],
  [[42, 43, 44, 45], { version: VERSION }],
  [[16, 36, 49, 50], { latest_version: VERSION }],
];
export const INNER: ReadonlyMap<number, Readonly<Record<string, string>>> = new Map(
  INNER_OF.flatMap(([numbers, keys]) => numbers.map((number) => [number, keys] as const)),
);
