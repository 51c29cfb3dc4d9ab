import { describe, expect, it } from 'vitest';
import { contract, type Operation } from '../../../src/contract/contract.ts';
import { ApiError } from '../../../src/contract/errors.ts';
import { presentError } from '../../../src/mcp/errors.ts';
import { nextStepFor } from '../../../src/mcp/tools/next-steps.ts';
import { tools } from '../../../src/mcp/tools/tools.ts';

const step = (operation: Operation, code: 'not_found' | 'already_exists', messageKey?: string) =>
  nextStepFor(contract[operation], new ApiError(code, 'No.', { messageKey }));

describe('nextStepFor()', () => {
  it.each<[Operation, string]>([
    ['getCollection', 'list_workspaces, list_workspace_collections'],
    ['executeLambdaTag', 'list_workspaces, list_workspace_lambdas, list_lambda_tags'],
    ['getLambdaVersion', 'list_workspaces, list_workspace_lambdas, list_lambda_versions'],
    ['deleteLambda', 'list_workspaces, list_workspace_lambdas'],
    ['getIntegration', 'list_integrations'],
    ['deleteUserApiKey', 'list_users, list_user_api_keys'],
    ['deleteAllowlistEntry', 'list_allowlist_entries'],
    ['updateVirtualInstance', 'list_virtual_instances'],
  ])('%s: what is not found is listed with %s', (operation, listers) => {
    expect(step(operation, 'not_found')).toBe(`List what exists with ${listers} and use those names.`);
  });

  it('names the lister of a thing named in the body, if that thing is missing', () => {
    expect(step('createAlias', 'not_found', 'COLLECTION_DOES_NOT_EXIST')).toContain('with list_collections and');
    expect(step('createAlias', 'not_found', 'WORKSPACE_NOT_FOUND')).toContain('with list_workspaces and');
    expect(step('addDocuments', 'not_found', 'COLLECTION_DOES_NOT_EXIST')).toContain('list_workspace_collections');
  });

  it('does not say that something has to go first where what refuses is the caller', () => {
    const error = new ApiError('dependent_resources', 'No.');
    expect(nextStepFor(contract.deleteUser, error)).toBe('A human can do what the message says; tell them.');
    expect(nextStepFor(contract.deleteWorkspace, error)).toBeUndefined();
  });

  it('names what changes a thing that exists already', () => {
    expect(step('createLambda', 'already_exists')).toContain('change it with create_lambda_version');
    expect(step('createAlias', 'already_exists')).toContain('change it with update_alias');
    expect(step('createWorkspace', 'already_exists')).toBeUndefined();
  });

  it('names only tools that exist', () => {
    for (const operation of Object.keys(contract) as Operation[]) {
      for (const code of ['not_found', 'already_exists'] as const) {
        for (const [name] of (step(operation, code) ?? '').matchAll(/\b[a-z]+(_[a-z]+)+\b/g)) {
          expect([...tools().keys()]).toContain(name);
        }
      }
    }
  });
});

describe('presentError()', () => {
  const missing = new ApiError('not_found', 'No.');

  it("prefers near names to the tool's own advice, and that to the advice for the error's code", () => {
    expect(presentError('t', missing, { suggestions: ['near'], next: 'List them.' }).next).toContain('did_you_mean');
    expect(presentError('t', missing, { next: 'List them.' }).next).toBe('List them.');
    expect(presentError('t', missing).next).toContain('list_workspaces');
  });
});
