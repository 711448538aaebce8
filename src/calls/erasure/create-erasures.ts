import type { Client } from '@temporalio/client';
import { createLedger } from '../../billing/ledger/ledger.js';
import { createAuditLog } from '../../identity/access/audit-log.js';
import type { Config } from '../../platform/config/config.js';
import { createPlansLoader } from '../../platform/numbering/national-plans.js';
import { createUnansweredAttempts } from '../../telephony/destinations/unanswered-attempts.js';
import { createRecordings } from '../../voice/recordings/recordings.js';
import { createAudioStores } from '../../voice/recordings/stores/stores.js';
import { createWebhookAttempts } from '../../webhooks/attempts.js';
import { createWebhookDeliveries } from '../../webhooks/deliveries.js';
import { createCallRequests } from '../call-requests.js';
import type { CallsDatabase } from '../database.js';
import type { CallGateway } from '../gateway.js';
import { createIdempotencyKeys } from '../placing/idempotency-keys.js';
import { createCallProjection } from '../projection.js';
import { createCallSearch } from '../search/call-search.js';
import { createCallErasure } from '../steps/erasure.js';
import { createCallResults } from '../wiring.js';
import { createClosedWorkflows } from './closed-workflows.js';
import { createAccountErasures } from './erase-account.js';
import { createNumberErasures } from './erase-number.js';
import { createCallRemoval } from './remove-call.js';

/** Creates the erasures of an operator from the parts that they use. */
export function createErasures(deps: {
  config: Config;
  database: CallsDatabase;
  gateway: Pick<CallGateway, 'erase'>;
  client: Client;
}) {
  const { config, database, gateway, client } = deps;
  const auditLog = createAuditLog(database);
  const erasure = createCallErasure({
    projection: createCallProjection(database),
    requests: createCallRequests(database),
    results: createCallResults(database),
    recordings: createRecordings(database, { stores: createAudioStores(database, config.recordings) }),
    deliveries: createWebhookDeliveries(database),
    attempts: createWebhookAttempts(database),
    idempotencyKeys: createIdempotencyKeys(database),
  });
  const removal = createCallRemoval({
    database,
    eraseCall: (call) => erasure.eraseCall(call),
    gateway,
    workflows: createClosedWorkflows(client),
    ledger: createLedger(database),
  });
  return {
    numbers: createNumberErasures({
      database,
      pepper: config.apiKeyPepper,
      formerPeppers: config.formerPeppers,
      removal,
      search: createCallSearch(database),
      attempts: createUnansweredAttempts({ database, pepper: config.stablePepper, loadPlans: createPlansLoader() }),
      auditLog,
    }),
    accounts: createAccountErasures({ database, removal, auditLog }),
  };
}
