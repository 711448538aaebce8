import { isFinal, isTransferred } from '../src/kernel/call-state.js';
import { givenUpAt } from '../src/kernel/resumption.js';
import type { CallRun } from './call-run.js';

/** Whether the call has ended or can have no (further) conversation. */
export function isEnding(call: CallRun): boolean {
  const { state } = call;
  const streamIsOver = state.mediaEnd !== undefined && !isTransferred(state);
  const isGivenUp = givenUpAt(state) !== undefined;
  return (
    isFinal(state) || state.carrierEnd !== undefined || streamIsOver || isGivenUp || state.hangUpCause !== undefined
  );
}
