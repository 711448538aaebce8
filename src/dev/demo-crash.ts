import { setTimeout as sleep } from 'node:timers/promises';
import { createLedger } from '../billing/ledger/ledger.js';
import { readCallMoney } from '../billing/call-money.js';
import { ledgerAccountId } from '../kernel/ids.js';
import { priceOfSeconds, rateOf, usdFromMicros } from '../kernel/money.js';
import type { WatchedCall } from './demo-call.js';
import type { Stack } from './launcher.js';

const LOOK_EVERY_MS = 100;
const WITHIN_MS = 60_000;
/** How long the agent speaks before each crash. The media process stores its words every 2 s. */
const SPEECH_MS = 3_000;

/**
 * Kills the media process that carries a call, and when another one has continued the call, the worker.
 * @param p.say prints a line about the call
 * @throws Error if the call does not begin or does not continue in time
 */
export async function crashDuring(p: {
  stack: Stack;
  callId: string;
  say: (line: string) => void;
  signal: AbortSignal;
}): Promise<void> {
  const { crashes } = p.stack;
  const carrier = async (what: string): Promise<string> => {
    for (const giveUpAt = Date.now() + WITHIN_MS; ;) {
      const found = await crashes.carrierOf(p.callId);
      if (found !== undefined) return found;
      if (Date.now() > giveUpAt) throw new Error(`The demo failed. ${what} did not happen in time.`);
      await sleep(LOOK_EVERY_MS, undefined, { signal: p.signal });
    }
  };
  await carrier('The conversation');
  await sleep(SPEECH_MS, undefined, { signal: p.signal });
  assertKilled(await crashes.killCarrier(p.callId));
  p.say('killed the media process that carried the audio (SIGKILL)');
  p.say(`${await carrier('The continuation of the call')} continues the call`);
  await sleep(SPEECH_MS, undefined, { signal: p.signal });
  assertKilled(crashes.killWorkers());
  p.say('killed the worker that runs the workflow of the call (SIGKILL)');
}

function assertKilled(killed: boolean): void {
  if (!killed) throw new Error('The demo failed. A process that was to be killed does not run.');
}

/**
 * Checks that a call survived the crashes: it continued, was billed once for the seconds of the carrier, and its webhook
 * was delivered once. Returns the problems found.
 * @param calls all calls of the account, whose costs must add up to the money that was billed
 */
export async function faultsAfterCrash(
  { database, runtime, demo }: Stack,
  { call, webhooks }: WatchedCall,
  calls: readonly WatchedCall[],
): Promise<string[]> {
  const account = ledgerAccountId(demo.accountId, 'live');
  const ledger = createLedger(database);
  const { settlement } = await readCallMoney(database, { ledgerAccountId: account, callId: call._id });
  const [balance, audit] = [await ledger.balance(account), await ledger.audit(account)];
  const carried = await carrierRecordOf(runtime.carrier_url, call.carrierSid ?? '');
  const seconds = call.durationSeconds ?? 0;
  const costs = calls.reduce((sum, each) => sum + (each.call.costMicros ?? 0), 0);
  const body = webhooks[0]?.body as { call_id?: unknown; cost?: unknown } | undefined;
  const expectations: [holds: boolean, otherwise: string][] = [
    [call.status === 'COMPLETED', `its status is ${call.status}, not COMPLETED`],
    [call.resumptions === 1, `it was continued ${call.resumptions ?? 0} times`],
    [carried.streams.length === 2, `the carrier opened ${carried.streams.length} streams for it`],
    [seconds > 0 && seconds === carried.duration_seconds, `its duration is ${seconds} s, not that of the carrier`],
    [settlement?.billedMicros === priceOfSeconds(seconds, rateOf(call)), 'the ledger has another bill for it'],
    [settlement?.billedMicros === call.costMicros, 'its cost is not that of the ledger'],
    [balance.billedMicros === costs, 'the account was billed another sum than its calls cost'],
    [balance.heldMicros === 0, 'money is still held'],
    [audit.balanced, 'the ledger is not balanced'],
    [webhooks.length === 1, `its webhook arrived ${webhooks.length} times`],
    [body?.call_id === call._id && body.cost === usdFromMicros(call.costMicros ?? 0), 'its webhook has another cost'],
  ];
  return expectations.filter(([holds]) => !holds).map(([, otherwise]) => `call with crashes: ${otherwise}`);
}

async function carrierRecordOf(
  carrierUrl: string,
  sid: string,
): Promise<{ duration_seconds: number | null; streams: readonly unknown[] }> {
  const response = await fetch(`${carrierUrl}/simulator/calls/${sid}`, { signal: AbortSignal.timeout(WITHIN_MS) });
  return (await response.json()) as { duration_seconds: number | null; streams: readonly unknown[] };
}
