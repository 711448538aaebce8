const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

export const CALL_ID_PATTERN = /^call_[0-9A-HJKMNP-TV-Z]{26}$/;
export const AGENT_ID_PATTERN = /^agent_(tmp_)?[0-9A-HJKMNP-TV-Z]{26}$/;

const TEMPORARY = 'agent_tmp_';

/** Creates the id of an agent that exists for one call only. @param ulid its random part */
export function temporaryAgentId(ulid: string): string {
  return `${TEMPORARY}${ulid}`;
}

export function isTemporaryAgent(agentId: string): boolean {
  return agentId.startsWith(TEMPORARY);
}

/** The account and the agent that a development service begins with. */
export const DEMO_ACCOUNT_ID = 'acct_0000000000000000000000DEM0';
export const DEMO_AGENT_ID = 'agent_0000000000000000000000DEM0';

/** Live calls cost real money. Test calls run the same code on the simulated carrier. */
export type Mode = 'live' | 'test';

/** Encodes 16 bytes as 26 Crockford base32 characters. As in a ULID, the first character encodes only 3 bits. */
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

/**
 * Returns the id of a call's completion event. All attempts have the same id, so that webhook endpoints can detect duplicates.
 */
export function completionEventId(callId: string): string {
  return `evt_${callId}_completed`;
}

/**
 * Returns the id of the ledger account that holds an account's money in one mode. The number at its end is always 0.
 * Higher numbers are reserved, so that an account with too many operations for one document can have several.
 */
export function ledgerAccountId(accountId: string, mode: Mode): string {
  return `${accountId}~${mode}#0`;
}

/**
 * Returns the account and mode that a ledger account belongs to.
 * @throws RangeError when the text is not a ledger account id
 */
export function ownerOfLedgerAccount(ledgerAccount: string): { accountId: string; mode: Mode } {
  const [, accountId, mode] = /^([A-Za-z0-9_-]+)~(live|test)#\d+$/.exec(ledgerAccount) ?? [];
  if (accountId === undefined) throw new RangeError('invalid ledger account id');
  return { accountId, mode: mode === 'live' ? 'live' : 'test' };
}
