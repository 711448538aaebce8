import { createCallGate, createCallResults, createCompletionSender } from '../src/calls/wiring.js';
import type { DialGate } from '../src/telephony/destinations/dial-gate.js';
import type { CarrierApis } from '../src/telephony/port.js';
import type { Config } from '../src/platform/config/config.js';
import { createAccounts } from '../src/identity/accounts/accounts.js';
import { createCallRequests } from '../src/calls/call-requests.js';
import { createCarrierBindings } from '../src/telephony/carrier-bindings.js';
import type { Database } from '../src/database.js';
import { createRejectionReports } from '../src/telephony/rejection-reports.js';
import { createCarrierOfCall } from '../src/telephony/web/carrier.js';
import { createWebLegs } from '../src/telephony/web/legs.js';
import { createCarrierEvents } from '../src/telephony/carrier-events.js';
import { createDialPacing } from '../src/telephony/pacing/dial-pacing.js';
import { createIdempotencyKeys } from '../src/calls/placing/idempotency-keys.js';
import { createLeases } from '../src/billing/leases.js';
import { createLedger } from '../src/billing/ledger/ledger.js';
import { createCallProjection } from '../src/calls/projection.js';
import { createRecordings } from '../src/voice/recordings/recordings.js';
import { createAudioStores } from '../src/voice/recordings/stores/stores.js';
import { createServerClock, type ServerClock } from '../src/platform/mongo/server-clock.js';
import { createFindings } from '../src/calls/reconciliation/findings.js';
import { createReconciliationChecks } from '../src/calls/reconciliation/checks.js';
import { createReconciliationWalks } from '../src/calls/reconciliation/walks.js';
import { createWebhookAttempts } from '../src/webhooks/attempts.js';
import { createWebhookSecrets } from '../src/webhooks/signing/secrets.js';
import { createWebhookDeliveries } from '../src/webhooks/deliveries.js';
import type { Logger } from '../src/platform/telemetry/logger.js';
import { createCallErasure } from '../src/calls/steps/erasure.js';
import { createCallReservations } from '../src/calls/steps/reservation.js';
import { createCallSettlement } from '../src/calls/steps/settlement.js';
import { createDroppedWords } from '../src/calls/steps/dropped-words.js';
import { createCarrierCalls } from '../src/calls/steps/carrier-calls.js';
import { createConversationFacts } from '../src/calls/steps/conversation-fields.js';
import { createDialSlots } from '../src/calls/steps/dial-slots.js';
import { createHoldExtensions } from '../src/calls/steps/hold-extension.js';
import { createRecordRetention } from '../src/calls/retention/record-retention.js';
import { createRecordingRetention } from '../src/calls/recording-retention.js';
import { withFailures } from './failures.js';
import { createExtensionActivities } from './extension.js';
import { createPacingActivities } from './pacing.js';
import { createRecordingActivities } from './recordings.js';
import { createReconciliationActivities } from './reconciliation.js';
import { createErasureActivities } from './erasures.js';
import { createSignUpActivities } from './sign-ups.js';
import { createWebhookActivities } from './webhooks.js';

interface ActivityDeps {
  config: Config;
  database: Database;
  carriers: CarrierApis;
  logger: Logger;
  /**
   * Checks every number before it is dialed. The default loads its rules on first use. If the rules are loaded already,
   * the first dial does not wait.
   */
  dialGate?: DialGate;
  /** Clock of the dial slots; by default the database server's. Tests that move time replace it. */
  clock?: ServerClock;
}

export type Activities = ReturnType<typeof createActivities>;

/**
 * All activities of the workflows. Each except `dialCallee` is idempotent, because Temporal may run it more than once.
 */
export function createActivities(deps: ActivityDeps) {
  const { config, database, carriers, logger, dialGate = createCallGate({ config, database }) } = deps;
  const clock = deps.clock ?? createServerClock(database);
  const carrierOfCall = createCarrierOfCall(carriers, database);
  const stores = {
    accounts: createAccounts(database),
    bindings: createCarrierBindings(database),
    ledger: createLedger(database),
    leases: createLeases(database),
    pacing: createDialPacing(database, { clock }),
    projection: createCallProjection(database),
    requests: createCallRequests(database),
    results: createCallResults(database),
    recordings: createRecordings(database, { stores: createAudioStores(database, config.recordings) }),
    rejectionReports: createRejectionReports({ carrierEvents: createCarrierEvents(database), logger }),
    webhookSecrets: createWebhookSecrets({ database, config }),
    webLegs: createWebLegs(database),
  };
  const endings = { deliveries: createWebhookDeliveries(database), attempts: createWebhookAttempts(database) };
  const erasure = createCallErasure({ ...stores, ...endings, idempotencyKeys: createIdempotencyKeys(database) });
  const checks = createReconciliationChecks(database);
  const droppedWords = createDroppedWords({ ...stores, database, checks });
  const { retention } = config;
  const recordRetention = createRecordRetention({ ...stores, ...endings, database, checks, retention, logger });
  const sender = createCompletionSender({ config, database, logger, stores });
  return withFailures({
    // Every function of these objects is an activity, and running calls know it by its name.
    ...createCallReservations({ ...stores, config, clock }),
    ...createCallSettlement({ ...stores, dialGate, droppedWords }),
    ...createCarrierCalls({ ...stores, config, carriers, carrierOfCall, dialGate, logger }),
    ...createConversationFacts({ ...stores, droppedWords }),
    ...createErasureActivities(erasure),
    // These need Temporal: the number of the attempt, heartbeats, metrics.
    ...createExtensionActivities(createHoldExtensions({ ...stores, config, carrierOfCall })),
    ...createPacingActivities(createDialSlots({ ...stores, config })),
    ...createSignUpActivities({ database, logger, eraseCall: (call) => erasure.eraseCall(call) }),
    ...createRecordingActivities(
      createRecordingRetention({ ...stores, ...config.recordings, database, logger }),
      recordRetention,
    ),
    ...createWebhookActivities(sender, config.temporal.taskQueues),
    ...createReconciliationActivities({
      ...stores,
      ...config.reconciliation,
      database,
      carrierOfCall,
      dialGate,
      logger,
      findings: createFindings(database),
      checks,
      droppedWords,
      expireAgain: (callId) => recordRetention.expireAgain(callId),
      walks: createReconciliationWalks(database),
    }),
  });
}
