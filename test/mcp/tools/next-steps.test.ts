import { describe, expect, it } from 'vitest';
import { contract, type Operation } from '../../../src/contract/contract.ts';
import { ApiError } from '../../../src/contract/errors.ts';
import { presentError } from '../../../src/mcp/errors.ts';
import { nextStepFor } from '../../../src/mcp/tools/next-steps.ts';
import { tools } from '../../../src/mcp/tools/tools.ts';

const step = (operation: Operation, code: 'not_found' | 'already_exists', messageKey?: string, message = 'No.') =>
  nextStepFor(contract[operation], new ApiError(code, message, { messageKey }));

describe('nextStepFor()', () => {
  it.each<[Operation, string, string?]>([
    ['getCollection', 'list_collections', 'COLLECTION_DOES_NOT_EXIST'],
    ['getCollection', 'list_workspaces', 'WORKSPACE_NOT_FOUND'],
    ['runQuery', 'list_collections', 'COLLECTION_DOES_NOT_EXIST'],
    ['runQuery', 'list_workspaces', 'WORKSPACE_NOT_FOUND'],
    ['createAlias', 'list_collections', 'COLLECTION_DOES_NOT_EXIST'],
    ['executeLambdaTag', 'list_lambdas', 'QUERY_NOT_FOUND'],
    ['executeLambdaTag', 'list_lambda_tags', 'TAG_NOT_FOUND'],
    ['getLambdaVersion', 'list_lambdas', 'QUERY_NOT_FOUND'],
    ['deleteLambda', 'list_workspaces', 'WORKSPACE_NOT_FOUND'],
    ['getIntegration', 'list_integrations'],
    ['deleteUserApiKey', 'list_users', 'USER_NOT_FOUND'],
    ['deleteUserApiKey', 'list_user_api_keys', 'API_KEY_NOT_FOUND'],
    ['deleteAllowlistEntry', 'list_allowlist_entries'],
    ['updateVirtualInstance', 'list_virtual_instances'],
  ])('%s: what is not found is listed with %s alone', (operation, lister, key) => {
    expect(step(operation, 'not_found', key)).toBe(`List what exists with ${lister} and use one of those names.`);
  });

  it('tells a version that is missing from its lambda', () => {
    const message = 'Query Lambda "a" (version "b") not found in workspace "c".';
    for (const operation of ['getLambdaVersion', 'tagLambdaVersion'] as const)
      expect(step(operation, 'not_found', 'QUERY_NOT_FOUND', message)).toContain('with list_lambda_versions and');
  });

  it.each<Operation>(['createCollection', 'createLambda', 'addDocuments'])(
    '%s: a workspace that is missing may be made',
    (operation) => {
      expect(step(operation, 'not_found', 'WORKSPACE_NOT_FOUND')).toBe(
        'List what exists with list_workspaces and use one of those names, or make a new one with create_workspace.',
      );
    },
  );

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
