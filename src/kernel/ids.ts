const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

export const CALL_ID_PATTERN = /^call_[0-9A-HJKMNP-TV-Z]{26}$/;
export const AGENT_ID_PATTERN = /^agent_(tmp_)?[0-9A-HJKMNP-TV-Z]{26}$/;

/** Live keys move real money and real phones; test keys run the same code against the simulated carrier. */
export type Mode = 'live' | 'test';

/** 26 Crockford base32 characters from 16 bytes (130 bits of room, the first character carries 3 bits, as in a ULID). */
export function encodeCrockford(bytes: Uint8Array): string {
  let value = 0n;
  for (const byte of bytes.subarray(0, 16)) value = (value << 8n) | BigInt(byte);
  let text = '';
  for (let i = 0; i < 26; i++) {
    text = CROCKFORD[Number(value & 31n)] + text;
    value >>= 5n;
  }
  return text;
}

/** The completion event of a call; one id on every attempt, so that receivers can tell a repeat. */
export function completionEventId(callId: string): string {
  return `evt_${callId}_completed`;
}

/** Where an account's money of one mode is kept. A stripe other than 0 is reserved for very hot accounts. */
export function ledgerAccountId(accountId: string, mode: Mode): string {
  return `${accountId}~${mode}#0`;
}

/** Whose account a ledger account is. @throws RangeError when it is no ledger account's id */
export function ownerOfLedgerAccount(ledgerAccount: string): { accountId: string; mode: Mode } {
  const [, accountId, mode] = /^([A-Za-z0-9_-]+)~(live|test)#\d+$/.exec(ledgerAccount) ?? [];
  if (accountId === undefined) throw new RangeError('not a ledger account id');
  return { accountId, mode: mode === 'live' ? 'live' : 'test' };
}
