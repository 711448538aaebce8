import type { Connection } from 'mongoose';
import type { PlatformDatabase } from '../platform/mongo/platform-database.js';
import { leaseSchema, ledgerAccountSchema, ledgerCheckpointSchema, ledgerEntrySchema } from './ledger/model.js';
import { paymentSchema } from './payments/model.js';

/** Collections of the billing domain and of the domains it depends on. */
export type BillingDatabase = PlatformDatabase & ReturnType<typeof billingModels>;

export function billingModels(connection: Connection) {
  return {
    ledgerAccounts: connection.model('LedgerAccount', ledgerAccountSchema),
    ledgerEntries: connection.model('LedgerEntry', ledgerEntrySchema),
    ledgerCheckpoints: connection.model('LedgerCheckpoint', ledgerCheckpointSchema),
    leases: connection.model('Lease', leaseSchema),
    payments: connection.model('Payment', paymentSchema),
  };
}
