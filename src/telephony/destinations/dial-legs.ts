import { CALL_ID_PATTERN } from '../../kernel/ids.js';

/**
 * The party to dial: the callee of a call, or the number that the agent transfers the call to. A call has at most one
 * of each.
 */
export type Leg = 'call' | 'transfer';

/**
 * Returns the field name under which a dial is counted.
 * @throws RangeError when the call id is malformed, because such an id must not become a field name
 */
export function dialFieldName({ callId, leg = 'call' }: { callId: string; leg?: Leg }): string {
  if (!CALL_ID_PATTERN.test(callId)) throw new RangeError('callId must be a valid call id');
  return leg === 'call' ? callId : `${callId}_transfer`;
}
