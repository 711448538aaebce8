import { createCallResults, createUsageAgents } from '../calls/wiring.js';
import Koa from 'koa';
import type { DialGate } from '../telephony/destinations/dial-gate.js';
import type { CallGateway } from '../calls/gateway.js';
import type { Config } from '../platform/config/config.js';
import { createAccounts } from '../identity/accounts/accounts.js';
import { createAgents } from '../agents/agents.js';
import { createAuditLog, type AuditLog } from '../identity/access/audit-log.js';
import { createCallQueries } from '../calls/call-queries.js';
import { createCallRequests } from '../calls/call-requests.js';
import { createCarrierEventHandlers, createCallInstructions } from '../calls/callbacks/create-callbacks.js';
import { createCarriers, createCarrierRoutes } from '../telephony/carriers.js';
import type { Carriers } from '../telephony/port.js';
import { createCarrierBindings } from '../telephony/carrier-bindings.js';
import { createCarrierEvents } from '../telephony/carrier-events.js';
import type { Database } from '../database.js';
import { createGivenUpCalls } from '../calls/placing/given-up-calls.js';
import { createCallProjection } from '../calls/projection.js';
import { createServerClock } from '../platform/mongo/server-clock.js';
import { createPendingReservations } from '../calls/placing/pending-reservations.js';
import { createIdempotencyKeys } from '../calls/placing/idempotency-keys.js';
import { createLeases } from '../billing/leases.js';
import { createLedger } from '../billing/ledger/ledger.js';
import { createPhoneNumbers } from '../agents/numbers/phone-numbers.js';
import { createLiveWords } from '../voice/live-words/live-words.js';
import { createProviderChecks } from '../voice/engines/agent-ids/prompt-check.js';
import { createRecordings } from '../voice/recordings/recordings.js';
import { createAudioStores } from '../voice/recordings/stores/stores.js';
import { createStatements } from '../billing/statements/statements.js';
import type { Link } from '../platform/launcher-link.js';
import type { Logger } from '../platform/telemetry/logger.js';
import { errorDocsUrl } from '../platform/http/contract/errors.js';
import { limitUnauthenticatedBodies } from '../platform/http/bodies-in-flight.js';
import type { RequestState } from '../platform/http/context.js';
import { createAuditor, type Auditor } from '../identity/access/audit.js';
import { createChangeQuota } from '../identity/access/change-quota.js';
import { createAuthenticator, type Authenticator } from '../identity/access/authentication.js';
import type { Passwords } from '../identity/people/passwords.js';
import { handleErrors } from './errors.js';
import { createFailureLimiter, createRateLimiter, type RateLimiter } from '../platform/http/rate-limits/rate-limit.js';
import { createPrincipalWatch } from '../identity/access/principal-watch.js';
import { requestId } from '../platform/http/request-id.js';
import { createSignedRequests, type SignedRequests } from '../platform/http/signed-requests.js';
import { securityHeaders } from '../platform/http/security.js';
import { createCursors } from '../platform/http/cursor.js';
import { createMoneyHandlers } from '../billing/routes.js';
import { createWebhookHandlers } from '../webhooks/routes.js';
import { createLargeDocuments } from '../platform/http/routing/large-documents.js';
import { bindRoutes, type BoundRoute } from '../platform/http/routing/bound-route.js';
import { mount } from './mount.js';
import { createDocsHandlers } from './docs.js';
import { createHealthHandlers } from './health.js';
import { mountedRoutes } from './routes.js';
import type { PrincipalsByAuth, RouteHandlers } from '../identity/access/principal.js';
import { createPlacingHandlers } from '../calls/placing/routes.js';
import { createWebCallHandlers } from '../calls/web/routes.js';
import { developmentRoutes } from '../calls/development/contract.js';
import { createDevelopmentHandlers } from '../calls/development/routes.js';
import { createCallHandlers } from '../calls/views/routes.js';
import { createAgentHandlers } from '../agents/routes.js';
import { createPhoneNumberHandlers } from '../agents/numbers/routes.js';
import { createVoiceHandlers } from '../agents/voices/routes.js';
import { createWebhookAttempts } from '../webhooks/attempts.js';
import { createIdentityHandlers } from '../identity/routes.js';
import { createInboundAgents } from '../agents/inbound-agent.js';
import type { Mailer } from '../platform/mail/mailer.js';
import { createPortalPages } from './portal-pages.js';
import { handleUnmatched } from './unmatched.js';

/** Timeout of carrier requests that are made during an API request. */
const CARRIER_TIMEOUT_MS = 2_000;

export interface AppDeps {
  config: Config;
  database: Database;
  gateway: CallGateway;
  dialGate: DialGate;
  logger: Logger;
  mailer: Mailer;
  /** Default: the carriers in the configuration. */
  carriers?: Carriers;
  /** Default: the library's hashing with its queue. Tests replace it. */
  passwords?: Passwords;
  /** Whether the process is about to stop; absent: never. */
  isDraining?: () => boolean;
  /** The launcher of the development stack, if it started this process. */
  launcher?: Link | undefined;
  /** Minimum of every response deadline in ms. Tests on slow machines raise it. */
  minDeadlineMs?: number;
}

/**
 * Maximum request bodies without authentication (at most 16 KiB each, such as log-ins) that are read at the same time.
 */
const MAX_UNAUTHENTICATED_BODIES = 1_000;

/** The whole HTTP API as one Koa application. */
export function createApp(deps: AppDeps): Koa<RequestState> {
  const { config, database, logger } = deps;
  const rateLimiter = createRateLimiter(database);
  const failureLimiter = createFailureLimiter(config);
  const signedRequests = createSignedRequests({ failureLimiter });
  const authenticator = createAuthenticator({
    config,
    database,
    rateLimiter,
    failureLimiter,
    signedRequests,
  });
  const auditLog = createAuditLog(database);
  const auditor = createAuditor({ auditLog, logger });
  const shared = createShared({ ...deps, authenticator, rateLimiter, signedRequests, auditLog, auditor });
  const carrierRoutes = createCarrierRoutes({
    ...shared,
    publicBaseUrl: config.publicBaseUrl,
    events: createCarrierEventHandlers(shared),
    instructions: createCallInstructions(shared),
  });
  const principalWatch = createPrincipalWatch({ readCurrentAccess: authenticator.readCurrentAccess, logger });
  const app = new Koa<RequestState>();
  // Koa reports only errors of connections that broke while a response was sent; the middleware handles all others.
  app.on('error', (error: unknown) => logger.debug({ err: error }, 'response could not be sent'));
  app.use(requestId(logger, { errorDocs: errorDocsUrl(config), minDeadlineMs: deps.minDeadlineMs ?? 0 }));
  app.use(handleErrors(logger));
  app.use(securityHeaders(config));
  app.use(signedRequests.middleware);
  app.use(limitUnauthenticatedBodies(MAX_UNAUTHENTICATED_BODIES));
  const changeQuota = createChangeQuota(database);
  const mountDeps = { config, authenticator, auditor, changeQuota, principalWatch };
  const bound = bindRoutes<typeof mountedRoutes, PrincipalsByAuth>(mountedRoutes, createHandlers(shared));
  const others = [...carrierRoutes, ...bindDevelopmentRoutes(shared)];
  app.use(mount([...bound, ...others], mountDeps).routes());
  app.use(createPortalPages({ streamUrl: config.streamUrl }));
  app.use(handleUnmatched({ config, authenticator, others }));
  return app;
}

/** Production has no such routes. */
function bindDevelopmentRoutes(shared: ReturnType<typeof createShared>): BoundRoute[] {
  if (shared.config.production) return [];
  return bindRoutes<typeof developmentRoutes, PrincipalsByAuth>(developmentRoutes, createDevelopmentHandlers(shared));
}

interface HandlerDeps extends AppDeps {
  authenticator: Authenticator;
  rateLimiter: RateLimiter;
  signedRequests: SignedRequests;
  auditLog: AuditLog;
  auditor: Auditor;
}

function createShared(deps: HandlerDeps) {
  const { config, database, gateway, logger } = deps;
  return {
    ...deps,
    cursors: createCursors(config.apiKeyPepper, config.formerPeppers),
    accounts: createAccounts(database),
    inboundAgents: createInboundAgents(database),
    agents: createAgents(database, config, createProviderChecks(config)),
    phoneNumbers: createPhoneNumbers(database),
    requests: createCallRequests(database),
    queries: createCallQueries(database),
    bindings: createCarrierBindings(database),
    carriers: deps.carriers ?? createCarriers({ config, timeoutMs: CARRIER_TIMEOUT_MS }),
    carrierEvents: createCarrierEvents(database),
    results: createCallResults(database),
    liveWords: createLiveWords(database),
    recordings: createRecordings(database, { stores: createAudioStores(database, config.recordings) }),
    idempotencyKeys: createIdempotencyKeys(database),
    ledger: createLedger(database),
    leases: createLeases(database),
    pending: createPendingReservations(),
    givenUpCalls: createGivenUpCalls({ projection: createCallProjection(database), gateway, logger }),
    clock: createServerClock(database),
    largeDocuments: createLargeDocuments(),
    attempts: createWebhookAttempts(database),
    statements: createStatements(database, createUsageAgents(database)),
  };
}

function createHandlers(shared: ReturnType<typeof createShared>): RouteHandlers<typeof mountedRoutes> {
  return {
    ...createPlacingHandlers(shared),
    ...createCallHandlers(shared),
    ...createWebCallHandlers(shared),
    ...createWebhookHandlers({ ...shared, calls: shared.queries }),
    ...createAgentHandlers(shared),
    ...createPhoneNumberHandlers(shared),
    ...createIdentityHandlers(shared),
    ...createVoiceHandlers(shared),
    ...createMoneyHandlers(shared),
    ...createHealthHandlers(shared),
    ...createDocsHandlers(shared),
  };
}
