import type { AnyOperation, Output, ParsedInput } from '../contract/contract.ts';
import { confirmClock, getAbout } from './about.ts';
import * as allowlist from './access/allowlist.ts';
import * as apiKeys from './access/api-keys.ts';
import { getOrganization } from './access/organization.ts';
import * as users from './access/users.ts';
import * as approvals from './approvals/approvals.ts';
import * as backups from './backups/backups.ts';
import * as aliases from './collections/aliases.ts';
import * as collections from './collections/collections.ts';
import * as documents from './collections/documents.ts';
import * as selections from './collections/selected-documents.ts';
import * as workspaces from './collections/workspaces.ts';
import * as virtualInstances from './compute/virtual-instances.ts';
import type { CallContext } from './context.ts';
import * as integrations from './integrations/integrations.ts';
import * as lambdaExecution from './lambdas/lambda-execution.ts';
import * as lambdaTags from './lambdas/lambda-tags.ts';
import * as lambdaVersions from './lambdas/lambda-versions.ts';
import * as lambdas from './lambdas/lambdas.ts';
import * as browsers from './pages/browsers.ts';
import * as queries from './queries/queries.ts';
import * as exports from './results/exports.ts';
import * as results from './results/results.ts';
import * as sourceControl from './sources/control.ts';
import * as trash from './trash/trash.ts';

/** Carries out one operation: takes parsed input, and returns the result without envelope or throws `ApiError`. */
export type Handler<K extends AnyOperation> = (
  ctx: CallContext,
  input: ParsedInput<K>,
) => Output<K> | Promise<Output<K>>;

/** One handler per row of the contract: a missing one does not compile. */
export type Handlers = { readonly [K in AnyOperation]: Handler<K> };

export const handlers: Handlers = {
  runQuery: queries.runQuery,
  validateQuery: queries.validateQuery,
  addDocuments: documents.addDocuments,
  deleteDocuments: documents.deleteDocuments,
  patchDocuments: documents.patchDocuments,
  createApiKey: apiKeys.createApiKey,
  createUserApiKey: apiKeys.createUserApiKey,
  deleteApiKey: apiKeys.deleteApiKey,
  deleteUserApiKey: apiKeys.deleteUserApiKey,
  listApiKeys: apiKeys.listApiKeys,
  listUserApiKeys: apiKeys.listUserApiKeys,
  createAlias: aliases.createAlias,
  updateAlias: aliases.updateAlias,
  deleteAlias: aliases.deleteAlias,
  getAlias: aliases.getAlias,
  listAliases: aliases.listAliases,
  listWorkspaceAliases: aliases.listWorkspaceAliases,
  listCollectionAliases: aliases.listCollectionAliases,
  createCollection: collections.createCollection,
  deleteCollection: collections.deleteCollection,
  getCollection: collections.getCollection,
  listCollections: collections.listCollections,
  listWorkspaceCollections: collections.listWorkspaceCollections,
  createAllowlistEntry: allowlist.createAllowlistEntry,
  deleteAllowlistEntry: allowlist.deleteAllowlistEntry,
  getAllowlistEntry: allowlist.getAllowlistEntry,
  listAllowlistEntries: allowlist.listAllowlistEntries,
  createIntegration: integrations.createIntegration,
  deleteIntegration: integrations.deleteIntegration,
  getIntegration: integrations.getIntegration,
  listIntegrations: integrations.listIntegrations,
  getOrganization,
  listAliasLambdas: lambdas.listAliasLambdas,
  listCollectionLambdas: lambdas.listCollectionLambdas,
  createLambda: lambdas.createLambda,
  deleteLambda: lambdas.deleteLambda,
  createLambdaVersion: lambdaVersions.createLambdaVersion,
  listLambdaVersions: lambdaVersions.listLambdaVersions,
  getLambdaVersion: lambdaVersions.getLambdaVersion,
  deleteLambdaVersion: lambdaVersions.deleteLambdaVersion,
  executeLambdaVersion: lambdaExecution.executeLambdaVersion,
  tagLambdaVersion: lambdaTags.tagLambdaVersion,
  listLambdaTags: lambdaTags.listLambdaTags,
  getLambdaTag: lambdaTags.getLambdaTag,
  deleteLambdaTag: lambdaTags.deleteLambdaTag,
  executeLambdaTag: lambdaExecution.executeLambdaTag,
  listTags: lambdaTags.listTags,
  listTagVersions: lambdaTags.listTagVersions,
  listLambdas: lambdas.listLambdas,
  listWorkspaceLambdas: lambdas.listWorkspaceLambdas,
  createUser: users.createUser,
  deleteUser: users.deleteUser,
  getCurrentUser: users.getCurrentUser,
  listUsers: users.listUsers,
  getVirtualInstance: virtualInstances.getVirtualInstance,
  listVirtualInstances: virtualInstances.listVirtualInstances,
  updateVirtualInstance: virtualInstances.updateVirtualInstance,
  createWorkspace: workspaces.createWorkspace,
  deleteWorkspace: workspaces.deleteWorkspace,
  getWorkspace: workspaces.getWorkspace,
  listWorkspaces: workspaces.listWorkspaces,
  listChildWorkspaces: workspaces.listChildWorkspaces,
  getAbout,
  confirmClock,
  listResults: results.listResults,
  fetchResult: results.fetchResult,
  profileResult: results.profileResult,
  exportResult: exports.exportResult,
  exportCollection: exports.exportCollection,
  listRunningExports: exports.listRunningExports,
  readExport: exports.readExport,
  removeExport: exports.removeExport,
  requestApproval: approvals.requestApproval,
  listApprovals: approvals.listApprovals,
  getApproval: approvals.getApproval,
  decideApproval: approvals.decideApproval,
  pairBrowser: browsers.pairBrowser,
  forgetBrowsers: browsers.forgetBrowsers,
  createBackup: backups.createBackup,
  listRunningBackups: backups.listRunningBackups,
  selectDocuments: selections.selectDocuments,
  deleteSelected: selections.deleteSelected,
  listTrash: trash.listTrash,
  restoreTrash: trash.restoreTrash,
  removeTrash: trash.removeTrash,
  emptyTrash: trash.emptyTrash,
  getSource: sourceControl.getSource,
  pauseSource: sourceControl.pauseSource,
  resumeSource: sourceControl.resumeSource,
  restartSource: sourceControl.restartSource,
  updateIntegration: integrations.updateIntegration,
};
