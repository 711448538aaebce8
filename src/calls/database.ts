import type { Connection } from 'mongoose';
import type { VoiceDatabase } from '../voice/database.js';
import { accountFreezeSchema } from './reconciliation/account-freeze-model.js';
import { callRequestSchema } from './call-request-model.js';
import { callSchema } from './call-model.js';
import { idempotencyKeySchema } from './placing/idempotency-key-model.js';
import { callSearchSchema } from './search/model.js';
import { checkSchema, cursorSchema, findingSchema } from './reconciliation/model.js';

/** The collections of calls and of the domains below it. */
export type CallsDatabase = VoiceDatabase & ReturnType<typeof callsModels>;

export function callsModels(connection: Connection) {
  return {
    accountFreezes: connection.model('AccountFreeze', accountFreezeSchema),
    callRequests: connection.model('CallRequest', callRequestSchema),
    callSearch: connection.model('CallSearch', callSearchSchema),
    calls: connection.model('Call', callSchema),
    idempotencyKeys: connection.model('IdempotencyKey', idempotencyKeySchema),
    reconciliationChecks: connection.model('ReconciliationCheck', checkSchema),
    reconciliationCursors: connection.model('ReconciliationCursor', cursorSchema),
    reconciliationFindings: connection.model('ReconciliationFinding', findingSchema),
  };
}
