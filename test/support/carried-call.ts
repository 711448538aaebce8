import { setTimeout as sleep } from 'node:timers/promises';
import type { ConversationResultDocument } from '../../src/voice/results/model.js';
import type { Database } from '../../src/database.js';
import type { Launched } from './dev-stack.js';

/** Finds the media process that conducts a call in the stack's log, which needs LOG_LEVEL=info. Returns the pid. */
export async function mediaProcessOf(stack: Launched, callId: string): Promise<number> {
  const started = stack
    .output()
    .split('\n')
    .findLast((line) => line.includes('conversation started') && line.includes(callId));
  const number = Number(/^media (\d)/.exec(started ?? '')?.[1]);
  const pid = (await stack.runtime(({ pids }) => pids.media.length === 2)).pids.media[number - 1];
  if (pid === undefined) throw new Error(`No media process has said that it carries ${callId}.`);
  return pid;
}

/** Waits until the media server has stored at least `count` turns of a call. */
export async function turnsStored(
  database: Database,
  callId: string,
  count: number,
): Promise<ConversationResultDocument> {
  return waitFor(`turn ${count} of ${callId}`, async () => {
    const result = await database.conversationResults.findById(callId).lean<ConversationResultDocument>();
    return result !== null && result.turns.length >= count ? result : undefined;
  });
}

/** Calls `look` again and again until it returns something, for at most 2.5 minutes. */
export async function waitFor<T>(what: string, look: () => Promise<T | undefined | null>): Promise<T> {
  const deadline = Date.now() + 150_000;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null) return found;
    if (Date.now() > deadline) throw new Error(`${what} did not come.`);
    await sleep(100);
  }
}

/** One media stream of a call, as the simulated carrier reports it. */
export interface CarriedStream {
  streamSid: string;
  at: string;
  mediaReceived: number;
  marks: { name: string; at: string }[];
  end?: string;
}

/** The simulated carrier's record of a call. */
export async function carrierRecordOf(
  carrierUrl: string,
  sid: string,
): Promise<{ duration_seconds: number | null; streams: CarriedStream[]; twiml: string[] }> {
  const response = await fetch(`${carrierUrl}/simulator/calls/${sid}`);
  return (await response.json()) as { duration_seconds: number | null; streams: CarriedStream[]; twiml: string[] };
}
