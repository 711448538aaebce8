import { CALL_ID_PATTERN } from '../../kernel/ids.js';

/** What is dialed: the callee of a call, or the number that its agent transfers it to. A call has at most one of each. */
export type Leg = 'call' | 'transfer';

/** The name under which a dial is counted. @throws RangeError when it would be no field's name */
export function memberOf({ callId, leg = 'call' }: { callId: string; leg?: Leg }): string {
  if (!CALL_ID_PATTERN.test(callId)) throw new RangeError('not a call id');
  return leg === 'call' ? callId : `${callId}_transfer`;
}
