import type { Connection } from 'mongoose';
import type { BillingDatabase } from '../billing/database.js';
import { accountSchema } from './accounts/model.js';
import { apiKeySchema } from './api-keys/model.js';
import { auditEntrySchema } from './access/audit-entry-model.js';
import type { CachedCredentials } from './credentials/cached-credentials.js';
import { credentialEpochSchema } from './credentials/model.js';
import {
  emailLinkSchema,
  invitationSchema,
  loginSessionSchema,
  unverifiedUserSchema,
  userSchema,
} from './people/model.js';

/** The collections of the identity domain and of the domains below it. */
export type IdentityDatabase = BillingDatabase & ReturnType<typeof identityModels> & { credentials: CachedCredentials };

export function identityModels(connection: Connection) {
  return {
    accounts: connection.model('Account', accountSchema),
    apiKeys: connection.model('ApiKey', apiKeySchema),
    credentialEpochs: connection.model('CredentialEpoch', credentialEpochSchema),
    auditEntries: connection.model('AuditEntry', auditEntrySchema),
    invitations: connection.model('Invitation', invitationSchema),
    sessions: connection.model('Session', loginSessionSchema),
    emailLinks: connection.model('EmailLink', emailLinkSchema),
    unverifiedUsers: connection.model('UnverifiedUser', unverifiedUserSchema),
    users: connection.model('User', userSchema),
  };
}
