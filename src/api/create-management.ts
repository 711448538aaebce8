import type { CallGateway } from '../calls/gateway.js';
import type { Config } from '../platform/config/config.js';
import type { Accounts } from '../identity/accounts/accounts.js';
import type { Agents } from '../agents/agents.js';
import type { AuditLog } from '../identity/access/audit-log.js';
import type { Database } from '../database.js';
import type { Ledger } from '../billing/ledger/ledger.js';
import type { PhoneNumbers } from '../agents/numbers/phone-numbers.js';
import type { Recordings } from '../voice/recordings/recordings.js';
import type { Statements } from '../billing/statements/statements.js';
import { createWebhookAttempts } from '../webhooks/attempts.js';
import type { Logger } from '../platform/telemetry/logger.js';
import type { RateLimiter } from '../platform/http/rate-limit.js';
import type { UnmountedHandlers } from './router.js';
import { createCursors } from '../platform/http/cursor.js';
import type { PlacingDeps } from '../calls/placing/place-call.js';
import { createReadRecording } from '../calls/views/recording.js';
import { createVoiceRoutes } from '../agents/voices-routes.js';
import { createAgentRoutes } from '../agents/routes.js';
import { createCallActions } from '../calls/views/call-actions.js';
import { createCallReader, createCallRoutes, type CallRoutesDeps } from '../calls/views/calls.js';
import { createPhoneNumberRoutes } from '../agents/numbers/routes.js';
import { createWatchCall } from '../calls/views/watch-call.js';

export interface ManagementDeps extends PlacingDeps, Omit<CallRoutesDeps, 'attempts' | 'cursors'> {
  config: Config;
  database: Database;
  gateway: CallGateway;
  logger: Logger;
  accounts: Accounts;
  agents: Agents;
  phoneNumbers: PhoneNumbers;
  recordings: Recordings;
  ledger: Ledger;
  statements: Statements;
  auditLog: AuditLog;
  rateLimiter: RateLimiter;
}

/** The management interface: what an account sets up, sees and does, by its keys or its members. */
export function createManagement(deps: ManagementDeps): UnmountedHandlers['keyOrSession'] {
  const { database, config } = deps;
  const shared = {
    ...deps,
    cursors: createCursors(config.apiKeyPepper),
    attempts: createWebhookAttempts(database),
    readCall: createCallReader({
      ...deps,
      cursors: createCursors(config.apiKeyPepper),
      attempts: createWebhookAttempts(database),
    }),
  };
  const calls = createCallRoutes(shared);
  const callActions = createCallActions(shared);
  const watchCall = createWatchCall(shared);
  const readRecording = createReadRecording(shared);
  const agents = createAgentRoutes(shared);
  const numbers = createPhoneNumberRoutes(shared);
  const voices = createVoiceRoutes(shared);
  return {
    listCalls: (ctx, principal) => calls.list(ctx, principal),
    createCall: (ctx, principal) => callActions.create(ctx, principal),
    readCall: (ctx, principal, params) => calls.read(ctx, principal, params['call_id'] ?? ''),
    watchCall: (ctx, principal, params) => watchCall(ctx, principal, params['call_id'] ?? ''),
    cancelCall: (ctx, principal, params) => callActions.cancel(ctx, principal, params['call_id'] ?? ''),
    readTranscript: (ctx, principal, params) => calls.transcript(ctx, principal, params['call_id'] ?? ''),
    readRecording: (ctx, principal, params) => readRecording(ctx, principal, params['call_id'] ?? ''),
    eraseCall: (ctx, principal, params) => callActions.erase(ctx, principal, params['call_id'] ?? ''),
    listAgents: (ctx, principal) => agents.list(ctx, principal),
    createAgent: (ctx, principal) => agents.create(ctx, principal),
    readAgent: (ctx, principal, params) => agents.read(ctx, principal, params['agent_id'] ?? ''),
    updateAgent: (ctx, principal, params) => agents.update(ctx, principal, params['agent_id'] ?? ''),
    archiveAgent: (ctx, principal, params) => agents.archive(ctx, principal, params['agent_id'] ?? ''),
    listPhoneNumbers: (ctx, principal) => numbers.list(ctx, principal),
    addPhoneNumber: (ctx, principal) => numbers.add(ctx, principal),
    readPhoneNumber: (ctx, principal, params) => numbers.read(ctx, principal, params['phone_number'] ?? ''),
    updatePhoneNumber: (ctx, principal, params) => numbers.update(ctx, principal, params['phone_number'] ?? ''),
    removePhoneNumber: (ctx, principal, params) => numbers.remove(ctx, principal, params['phone_number'] ?? ''),
    listVoices: (ctx) => voices.voices(ctx),
    listLanguages: (ctx) => voices.languages(ctx),
  };
}
