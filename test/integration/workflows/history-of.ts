import { temporal } from '@temporalio/proto';
import type { Harness, TestCall } from './harness.js';

/** Fetches a call's history: its number of events, its size in bytes as the server stores it, and its text. */
export async function historyOf(call: TestCall, { environment }: Harness) {
  const history = await environment.client.workflow.getHandle(call.callId).fetchHistory();
  const { History } = temporal.api.history.v1;
  const bytes = History.encode(History.fromObject(history)).finish();
  return { events: history.events?.length ?? 0, bytes: bytes.length, text: Buffer.from(bytes).toString('latin1') };
}
