import { state as nodeWarning } from '@aws-sdk/core/client';
import { defaultProvider } from '@aws-sdk/credential-provider-node';

export { AssumeRoleCommand, STSClient } from '@aws-sdk/nested-clients/sts';

/*
 * What it takes to sign in to AWS with what the machine has; loaded when that is needed. Imported as a whole: of packages in
 * the older form a bundler knows no names where they are loaded later.
 */

// Else it tells that its versions of next year will not run on Node.js 20. Ours are pinned.
nodeWarning.warningEmitted = true;

/** The credentials of the environment, a profile or the machine's role, as they are now. Rejects without any. */
export const machineCredentials = () => defaultProvider()();
