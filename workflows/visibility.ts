import { defineSearchAttributeKey } from '@temporalio/common';
import { upsertSearchAttributes } from '@temporalio/workflow';
import type { EndReason, FinalStatus } from '../src/kernel/call-state.js';

/**
 * Sets the search attributes for operators. Called only at the end, because each update adds an event to the history.
 */
export function setFinalSearchAttributes(status: FinalStatus, endReason?: EndReason): void {
  const attributes = [{ key: defineSearchAttributeKey('CallStatus', 'KEYWORD'), value: status as string }];
  if (endReason !== undefined) {
    attributes.push({ key: defineSearchAttributeKey('EndReason', 'KEYWORD'), value: endReason });
  }
  upsertSearchAttributes(attributes);
}
