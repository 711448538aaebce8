import Koa from 'koa';
import type { DialGate } from '../calls/dial-gate.js';
import type { CallGateway } from '../calls/gateway.js';
import type { Config } from '../config.js';
import { createAccounts } from '../store/accounts.js';
import { createAgents } from '../store/agents.js';
import { createAuditLog, type AuditLog } from '../store/audit-log.js';
import { createCallQueries } from '../store/call-queries.js';
import { createCallRequests } from '../store/call-requests.js';
import { createCarrierBindings } from '../store/carrier-bindings.js';
import { createCarrierEvents } from '../store/carrier-events.js';
import { createConversationResults } from '../store/conversation-results.js';
import type { Database } from '../store/database.js';
import { createIdempotencyKeys } from '../store/idempotency-keys.js';
import { createLedger } from '../store/ledger.js';
import { createPhoneNumbers } from '../store/phone-numbers.js';
import { createRecordings } from '../store/recordings.js';
import { createStatements } from '../store/statements.js';
import type { Logger } from '../telemetry/logger.js';
import { createDocs } from './api/docs.js';
import { createHealth } from './api/health.js';
import { createInboundCall } from './api/inbound-call.js';
import { createOutboundCall } from './api/outbound-call.js';
import { createManagement } from './api/management/create-management.js';
import { createNoteAnsweredBy } from './carrier/answered-by.js';
import { createContinueAfterStream } from './carrier/after-stream.js';
import { createCarrierStatus } from './carrier/status.js';
import { createNoteTransferStatus } from './carrier/transfer-status.js';
import { createAnswerOutboundCall } from './carrier/twiml.js';
import type { RequestState } from './context.js';
import { createAuditor, type Auditor } from './middleware/audit.js';
import { createAuthenticator, type Authenticator } from './middleware/authentication.js';
import { errors } from './middleware/errors.js';
import { createFailureLimiter, createRateLimiter, type RateLimiter } from './middleware/rate-limit.js';
import { createPrincipalWatch } from './middleware/principal-watch.js';
import { requestId } from './middleware/request-id.js';
import { createSignedRequests, type SignedRequests } from './middleware/signed-requests.js';
import { securityHeaders } from './middleware/security.js';
import { createPaymentWebhook } from './payments/webhook.js';
import { createPortal } from './portal/create-portal.js';
import type { Mailer } from './portal/mailer.js';
import { createPortalPages } from './portal/pages.js';
import { createRouters, unmatched, type Handlers } from './router.js';

export interface AppDeps {
  config: Config;
  database: Database;
  gateway: CallGateway;
  dialGate: DialGate;
  logger: Logger;
  mailer: Mailer;
}

/** The whole HTTP interface as one Koa application. */
export function createApp(deps: AppDeps): Koa<RequestState> {
  const { config, database, logger } = deps;
  const rateLimiter = createRateLimiter(database);
  const failureLimiter = createFailureLimiter(config);
  const signedRequests = createSignedRequests({ failureLimiter });
  const authenticator = createAuthenticator({ config, database, rateLimiter, failureLimiter, signedRequests });
  const auditLog = createAuditLog(database);
  const auditor = createAuditor({ auditLog, logger });
  const handlers = createHandlers({ ...deps, authenticator, rateLimiter, signedRequests, auditLog, auditor });
  const principalWatch = createPrincipalWatch({ standingOf: authenticator.standingOf, logger });
  const app = new Koa<RequestState>();
  // Errors of a connection that broke while its answer was sent; everything else is handled by the middleware.
  app.on('error', (error: unknown) => logger.debug({ err: error }, 'an answer could not be sent'));
  app.use(requestId(logger));
  app.use(errors(logger));
  app.use(securityHeaders(config));
  app.use(signedRequests.middleware);
  for (const router of createRouters({ config, authenticator, handlers, auditor, principalWatch }))
    app.use(router.routes());
  app.use(createPortalPages());
  app.use(unmatched({ config, authenticator }));
  return app;
}

interface HandlerDeps extends AppDeps {
  authenticator: Authenticator;
  rateLimiter: RateLimiter;
  signedRequests: SignedRequests;
  auditLog: AuditLog;
  auditor: Auditor;
}

function createHandlers(deps: HandlerDeps): Handlers {
  const { config, database } = deps;
  const shared = {
    ...deps,
    accounts: createAccounts(database),
    agents: createAgents(database, config),
    phoneNumbers: createPhoneNumbers(database),
    requests: createCallRequests(database),
    queries: createCallQueries(database),
    bindings: createCarrierBindings(database),
    carrierEvents: createCarrierEvents(database),
    results: createConversationResults(database),
    recordings: createRecordings(database),
    idempotencyKeys: createIdempotencyKeys(database),
    ledger: createLedger(database),
    statements: createStatements(database),
  };
  const outboundCall = createOutboundCall(shared);
  const status = createCarrierStatus(shared);
  const answerOutboundCall = createAnswerOutboundCall(shared);
  const continueAfterStream = createContinueAfterStream(shared);
  const noteAnsweredBy = createNoteAnsweredBy(shared);
  const noteTransferStatus = createNoteTransferStatus(shared);
  const health = createHealth(shared);
  const docs = createDocs(shared);
  const portal = createPortal(shared);
  const receivePayment = createPaymentWebhook(shared);
  return {
    key: {
      placeCall: (ctx, principal) => outboundCall.post(ctx, principal),
      readOrPlaceCall: (ctx, principal) => outboundCall.get(ctx, principal),
    },
    keyOrSession: createManagement(shared),
    session: portal.session,
    origin: portal.origin,
    keyOrCarrier: { receiveCall: createInboundCall(shared) },
    carrier: {
      answerOutboundCall: (ctx, params) => answerOutboundCall(ctx, params['call_id'] ?? ''),
      reportOutboundStatus: (ctx, params) => status.outbound(ctx, params['call_id'] ?? ''),
      reportAnsweredBy: (ctx, params) => noteAnsweredBy(ctx, params['call_id'] ?? ''),
      reportTransferStatus: (ctx, params) => noteTransferStatus(ctx, params['call_id'] ?? ''),
      reportInboundStatus: (ctx) => status.inbound(ctx),
      continueAfterStream: (ctx, params) => continueAfterStream(ctx, params['call_id'] ?? ''),
    },
    none: {
      ...portal.none,
      receivePayment: (ctx) => receivePayment(ctx),
      checkLiveness: (ctx) => health.live(ctx),
      checkReadiness: (ctx) => health.ready(ctx),
      readInterface: (ctx) => docs.document(ctx),
      readDocs: (ctx) => docs.page(ctx),
      readDocsFile: (ctx, params) => docs.file(ctx, params['file'] ?? ''),
    },
  };
}
