import { setTimeout as sleep } from 'node:timers/promises';
import { priceOfSeconds, rateOf, usdFromMicros } from '../kernel/money.js';
import type { Database } from '../database.js';
import type { CallDocument } from '../calls/call-model.js';
import type { Delivery, WebhookInbox } from './webhook-inbox.js';

/** A call of the demo, and the webhooks sent about it. */
export interface WatchedCall {
  call: CallDocument;
  webhooks: readonly Delivery[];
}

const LOOK_EVERY_MS = 100;
/** How long to wait for the end of the call. A conversation with three questions takes about 45 s. */
const WITHIN_MS = 150_000;
/** How long to wait for a second delivery, which would be an error. */
const REPEAT_TIMEOUT_MS = 1_000;

/**
 * Waits for one call from its start to its webhook and prints each status.
 * @param find returns the call's document, or null if it does not exist yet
 * @throws Error when the call does not end in time or sends no webhook
 */
export async function watchDemoCall(p: {
  find: () => Promise<CallDocument | null>;
  inbox: WebhookInbox;
  say: (line: string) => void;
  signal: AbortSignal;
}): Promise<WatchedCall> {
  const deadline = Date.now() + WITHIN_MS;
  let status: string | undefined;
  for (;;) {
    const call = await p.find();
    if (call !== null && call.status !== status) {
      ({ status } = call);
      p.say(call.endReason === undefined ? status : `${status} (${call.endReason})`);
    }
    if (call !== null && webhooksOf(call._id, p.inbox).length > 0) break;
    if (Date.now() > deadline) {
      throw new Error(`After ${WITHIN_MS / 1_000} s the call had status ${status ?? 'none'} and no webhook.`);
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal: p.signal });
  }
  p.say('webhook received');
  await sleep(REPEAT_TIMEOUT_MS, undefined, { signal: p.signal });
  const call = await p.find();
  if (call === null) throw new Error('The call no longer exists.');
  return { call, webhooks: webhooksOf(call._id, p.inbox) };
}

/**
 * Checks that a call was answered, conducted, billed and reported. Returns the problems found.
 * @param answers the values that must be extracted; undefined if only a person can judge them
 */
export function faultsOf({ call, webhooks }: WatchedCall, answers: object | undefined): string[] {
  const expected = answers === undefined ? call.outputParameters : JSON.stringify(answers);
  const seconds = call.durationSeconds ?? 0;
  const body = webhooks[0]?.body as Record<string, unknown> | undefined;
  const expectations: [holds: boolean, otherwise: string][] = [
    [call.status === 'COMPLETED', `its status is ${call.status}, not COMPLETED`],
    [seconds > 0, 'it has no duration'],
    [call.costMicros === priceOfSeconds(seconds, rateOf(call)), `its cost is not that of ${seconds} s`],
    [['agent', 'caller'].every((side) => saidBy(side, call)), 'its transcript does not contain both sides'],
    [call.outputParameters === expected, `${call.outputParameters ?? 'nothing'} was extracted, not ${expected}`],
    [body?.output_parameters === expected, 'its webhook contains other values'],
    [webhooks.length === 1, `its webhook arrived ${webhooks.length} times`],
    [body?.call_id === call._id && body.status === call.status, 'its webhook contains another call or status'],
    [body?.cost === usdFromMicros(call.costMicros ?? 0), 'its webhook contains another cost'],
  ];
  return expectations.filter(([holds]) => !holds).map(([, otherwise]) => otherwise);
}

function saidBy(side: string, { transcription = '' }: CallDocument): boolean {
  return transcription.split('\n').some((line) => line.startsWith(`${side}: `));
}

/** Formats the results of a call. */
export function reportOf(name: string, { call, webhooks }: WatchedCall): string {
  const seconds = call.durationSeconds ?? 0;
  const lines = [
    `${name}: ${call._id}`,
    `  ended       ${call.status} (${call.endReason ?? 'no reason'})`,
    `  cost        ${usdFromMicros(call.costMicros ?? 0)} USD for ${seconds} s (${usdFromMicros(rateOf(call))} USD per second)`,
    `  summary     ${call.summary ?? 'none'}`,
    `  extracted   ${call.outputParameters ?? 'nothing'}`,
    ...transcriptLines(call),
    `  webhook`,
    ...webhooks.flatMap(({ body }) => JSON.stringify(body, null, 2).split('\n')).map((line) => `    ${line}`),
  ];
  return lines.join('\n');
}

/** Formats the words of a call. */
export function wordsOf(name: string, { call }: WatchedCall): string {
  return [`${name}: ${call._id}`, ...transcriptLines(call)].join('\n');
}

function transcriptLines({ transcription = 'none' }: CallDocument): string[] {
  return ['  transcript', ...transcription.split('\n').map((line) => `    ${line}`)];
}

/** Returns a function that finds a call's document by its id, or by the carrier's. */
export function finderOf(database: Database, by: { _id: string } | { carrierSid: string }) {
  return async () => {
    const found = '_id' in by ? by : await database.carrierBindings.findOne(by, { _id: 1 }).lean<{ _id: string }>();
    return found === null ? null : database.calls.findById(found._id).lean<CallDocument>().exec();
  };
}

function webhooksOf(callId: string, inbox: WebhookInbox): Delivery[] {
  return inbox.deliveries().filter(({ body }) => (body as { call_id?: unknown } | null)?.call_id === callId);
}
