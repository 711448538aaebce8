import type { portalRoutes } from './contract.js';
import type { Config } from '../../platform/config/config.js';
import type { Accounts } from '../accounts/accounts.js';
import type { IdentityDatabase } from '../database.js';
import { createKeyCreators } from '../api-keys/key-creators.js';
import { createEmailLinks } from '../people/email-links.js';
import { createMembers } from '../people/members.js';
import { createPasswordRules } from '../people/password-rules.js';
import { createPasswords, type Passwords } from '../people/passwords.js';
import { createLoginSessions } from '../people/login-sessions.js';
import type { RouteHandlers } from '../access/principal.js';
import type { Auditor } from '../access/audit.js';
import { createAccountMail } from './account-mail.js';
import { createHashing } from './hashing.js';
import { createPortalLimits } from './limits.js';
import { createMailRequestLimits } from './mail-request-limits.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { Mailer } from '../../platform/mail/mailer.js';
import { createMemberHandlers } from './members.js';
import { createRecoveryHandlers } from './recovery.js';
import { createLoginSessionHandlers } from './login-sessions.js';

export interface PortalHandlersDeps {
  config: Config;
  database: IdentityDatabase;
  accounts: Accounts;
  auditor: Auditor;
  mailer: Mailer;
  logger: Logger;
  /** Default: the hash functions of the library. */
  passwords?: Passwords;
}

/** Handlers of the portal: sign-up, log-in, members, recovery. */
export function createPortalHandlers(deps: PortalHandlersDeps): RouteHandlers<typeof portalRoutes> {
  const members = createMembers(deps.database);
  const emailLinks = createEmailLinks(deps.database);
  const shared = {
    ...deps,
    members,
    emailLinks,
    keyCreators: createKeyCreators(deps.database),
    accountMail: createAccountMail({ ...deps, members, emailLinks }),
    sessions: createLoginSessions(deps.database),
    hashing: createHashing({ config: deps.config, passwords: deps.passwords ?? createPasswords() }),
    passwordRules: createPasswordRules(),
    limits: createPortalLimits(deps),
    mailRequests: createMailRequestLimits(deps),
  };
  return { ...createLoginSessionHandlers(shared), ...createMemberHandlers(shared), ...createRecoveryHandlers(shared) };
}
