import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineName } from '../kernel/conversation/engines.js';
import { finderOf, faultsOf, reportOf, watchDemoCall, wordsOf, type WatchedCall } from './demo-call.js';
import { crashDuring, faultsAfterCrash } from './demo-crash.js';
import { startStack, type Stack } from './launcher.js';
import { usdFromMicros } from '../kernel/money.js';
import { untilStopped } from './processes/stop-signals.js';

/** Number of a simulated person who answers the demo agent's three questions by voice, and then hangs up. */
const CALLEE = '+12025550111';
const CALLER_SCRIPT = '11';
/** Number of a simulated person who talks until the agent says goodbye. */
const TALKER = '+12025550100';
/** The values that the offline engine extracts from these answers. A model may write them differently. */
const ANSWERS = { appointment_confirmed: true, confirmation_code: '4152', preferred_time: 'afternoon' };
const CALLER = '+12025550123';
const REQUEST_TIMEOUT_MS = 10_000;
/** How often, and after which pause, to place the call again that a service just started was too busy to accept. */
const ATTEMPTS = 5;
const RETRY_AFTER_MS = 2_000;

/**
 * Runs `callwright demo`: starts a separate stack, places one call, receives another, and shows both in full. Then kills
 * the media process and the worker during a third one, shows its words, and checks that nothing was lost.
 * @param engine conducts the calls; by default the offline one, so that a demo costs no money by accident
 * @throws Error that lists the problems when a call does not go as expected
 */
export async function runDemo(env: NodeJS.ProcessEnv, engine?: EngineName): Promise<void> {
  const write = (line: string) => void process.stdout.write(`${line}\n`);
  const report = (line: string) => write(`callwright: ${line}`);
  await untilStopped(async (signal) => {
    const folder = await mkdtemp(join(tmpdir(), 'callwright-demo-'));
    try {
      report('starting the servers and all roles');
      const began = Date.now();
      const chosen = { ...env, ENGINE: engine ?? 'offline-demo', TEST_MODE_ENGINE: 'offline-demo' };
      const stack = await startStack({ env: chosen, dataFolder: folder, report, log: write, quiet: true, signal });
      report(`ready after ${((Date.now() - began) / 1_000).toFixed(1)} s`);
      try {
        await conduct(stack, write, signal);
      } finally {
        await stack.stop();
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}

async function conduct(stack: Stack, write: (line: string) => void, signal: AbortSignal): Promise<void> {
  let crash: Promise<void> = Promise.resolve();
  // A caller does not try again, so let the second call arrive when the service has accepted the first.
  const placed = placeCall(stack, CALLEE, signal);
  const [outbound, inbound] = await Promise.all([
    follow('outbound', stack, write, signal, () => placed),
    follow('inbound', stack, write, signal, () => placed.then(() => letCallArrive(stack))),
  ]);
  write(`\n${reportOf('outbound', outbound)}\n\n${reportOf('inbound', inbound)}\n`);
  const engine = stack.config.engines.byDefault;
  const answers = engine === 'offline-demo' ? ANSWERS : undefined;
  write('\nNow a call during which the media process and the worker are killed:');
  const crashed = await follow('crashes', stack, write, signal, async (say) => {
    const call = await placeCall(stack, TALKER, signal);
    // The call is watched meanwhile, and fails the demo if it does not continue.
    crash = crashDuring({ stack, callId: call._id, say, signal });
    crash.catch(() => undefined);
    return call;
  });
  await crash;
  write(`\n${wordsOf('crashes', crashed)}\n`);
  const faults = [
    ...faultsOf(outbound, answers).map((fault) => `outbound call: ${fault}`),
    ...faultsOf(inbound, answers).map((fault) => `inbound call: ${fault}`),
    ...(await faultsAfterCrash(stack, crashed, [outbound, inbound, crashed])),
  ];
  if (faults.length > 0) throw new Error(`The demo failed. ${faults.join('; ')}.`);
  const did = answers === undefined ? `talked freely with ${engine}` : 'extracted the three values';
  const { durationSeconds = 0, costMicros = 0 } = crashed.call;
  write(
    `The media process and the worker were killed in mid-call: the call continued, was billed once ` +
      `(${usdFromMicros(costMicros)} USD for ${durationSeconds} s), and its webhook was delivered once.`,
  );
  write(`Both other calls were answered, ${did}, were billed by the second and delivered their webhook.`);
}

/** Starts a call with `begin` and waits for its webhook. */
async function follow(
  name: string,
  stack: Stack,
  write: (line: string) => void,
  signal: AbortSignal,
  begin: (say: (line: string) => void) => Promise<{ _id: string } | { carrierSid: string }>,
): Promise<WatchedCall> {
  const began = Date.now();
  const say = (line: string) => {
    const seconds = ((Date.now() - began) / 1_000).toFixed(1);
    write(`${new Date().toISOString()}  ${seconds.padStart(5)} s  ${name.padEnd(8)}  ${line}`);
  };
  const call = await begin(say);
  return watchDemoCall({ find: finderOf(stack.database, call), inbox: stack.inbox, say, signal });
}

async function placeCall({ runtime }: Stack, to: string, signal: AbortSignal): Promise<{ _id: string }> {
  const request = {
    headers: { authorization: `Bearer ${runtime.live_api_key}` },
    body: {
      to_phone_number: to,
      agent_id: runtime.agent_id,
      webhook_url: runtime.webhook_inbox_url,
      external_call_id: 'demo-outbound',
      input_parameters: JSON.stringify({ customer: 'Ada' }),
    },
  };
  for (let attempt = 1; ; attempt += 1) {
    try {
      return { _id: textField(await post(`${runtime.base_url}/outbound_call`, request), 'call_id') };
    } catch (error) {
      // After a 503 no call was placed.
      if (!(error instanceof RejectedError && error.status === 503) || attempt === ATTEMPTS) throw error;
      await sleep(RETRY_AFTER_MS, undefined, { signal });
    }
  }
}

/** Simulates an inbound call. Returns the carrier's call id, the only id known before the service responds. */
async function letCallArrive({ runtime, demo }: Stack): Promise<{ carrierSid: string }> {
  const response = await post(`${runtime.carrier_url}/simulator/inbound`, {
    headers: {},
    body: { to: demo.phoneNumber, from: CALLER, forwarded_from: demo.phoneNumber, script: CALLER_SCRIPT },
  });
  return { carrierSid: textField(response, 'sid') };
}

/** A request of the demo was rejected. */
class RejectedError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

async function post(
  url: string,
  { headers, body }: { headers: Record<string, string>; body: object },
): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  const text = await response.text();
  if (!response.ok) {
    throw new RejectedError(response.status, `POST ${url} responded with ${response.status}: ${text}`);
  }
  return JSON.parse(text);
}

function textField(response: unknown, name: string): string {
  const value = (response as Record<string, unknown> | null)?.[name];
  if (typeof value !== 'string') throw new Error(`A response has no ${name}: ${JSON.stringify(response)}`);
  return value;
}
