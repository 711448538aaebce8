import type { CarrierAccount } from '../../platform/config/config.js';
import { ofAccount, type AccountOfCall, type PerAccount } from './account-of-call.js';

/** Returns the configured account of a call. @throws CarrierAccountMissing */
export function accountOf(accounts: PerAccount<CarrierAccount>, call: AccountOfCall): CarrierAccount {
  return ofAccount(accounts, call, ({ carrierAccountId }) => carrierAccountId);
}
