import type { Mode } from '../../kernel/ids.js';

/** The carrier account of a call, as the call stores it. */
export interface AccountOfCall {
  mode: Mode;
  /** The carrier's id of the account. Absent in calls of earlier releases, which are calls of the account `default`. */
  carrierAccountId?: string | undefined;
}

/** A configured account at a carrier. */
export interface CarrierAccountRef {
  /** The operator's name for the account. */
  name: string;
  /** The carrier's id of the account. */
  id: string;
  /** Whether calls without a stored account are calls of this one. */
  isDefault: boolean;
}

/** The accounts of each mode, or what belongs to each account. `further`: those of live mode besides `live`. */
export interface PerAccount<T> {
  live: T;
  test: T;
  further?: readonly T[];
}

/** Thrown when the account of a call is not configured. Nothing was sent. The request can be repeated. */
export class CarrierAccountMissing extends Error {
  override readonly name = 'CarrierAccountMissing';

  constructor({ carrierAccountId = '' }: AccountOfCall) {
    super(
      `The carrier account ${carrierAccountId} of the call is not configured: add it to CARRIER_ACCOUNTS_FILE again.`,
    );
  }
}

/** Returns what belongs to the accounts of a mode, that of `default` first. */
export function accountsOfMode<T>({ live, test, further = [] }: PerAccount<T>, mode: Mode): T[] {
  return mode === 'live' ? [live, ...further] : [test];
}

/** Like `ofAccount`; undefined if the account is not configured. */
export function findOfAccount<T>(
  accounts: PerAccount<T>,
  { carrierAccountId: id, mode }: AccountOfCall,
  idOf: (each: T) => string | undefined,
): T | undefined {
  return id === undefined ? accounts[mode] : accountsOfMode(accounts, mode).find((each) => idOf(each) === id);
}

/**
 * Finds what belongs to the account of a call.
 * @param idOf the carrier's id of an account
 * @throws CarrierAccountMissing
 */
export function ofAccount<T>(accounts: PerAccount<T>, call: AccountOfCall, idOf: (each: T) => string | undefined): T {
  const found = findOfAccount(accounts, call, idOf);
  if (found === undefined) throw new CarrierAccountMissing(call);
  return found;
}

/**
 * Whether a call belongs to an account.
 * @param account absent: the carrier has one account, or none
 */
export function isOfAccount(
  { carrierAccountId }: Pick<AccountOfCall, 'carrierAccountId'>,
  account?: CarrierAccountRef,
) {
  return carrierAccountId === undefined ? (account?.isDefault ?? true) : carrierAccountId === account?.id;
}

/** The stored id of an account, as a part of a document. */
export function storedAccount(account: Pick<CarrierAccountRef, 'id'> | undefined): { carrierAccountId?: string } {
  return account === undefined ? {} : { carrierAccountId: account.id };
}
