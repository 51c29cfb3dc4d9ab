import { ApiError } from '../../contract/errors.ts';
import type { Organization } from '../../contract/organization.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { SELF } from '../catalog/records.ts';

/** The organization (docs/api.md #34). */
export function getOrganization(ctx: { catalog: Catalog }): Organization {
  const record = ctx.catalog.all('organization').get(SELF);
  if (record === undefined) throw new ApiError('internal', 'The metadata holds no organization.');
  return {
    id: record.id,
    created_at: record.createdAt,
    display_name: record.displayName,
    company_name: null,
    external_id: record.id,
    service_user: null,
    // The only state that the API names.
    state: 'TRIAL',
    deletionScheduledAt: null,
    clusters: [],
    num_dedicated_pods: 0,
  };
}
