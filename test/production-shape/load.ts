import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from './client.js';
import type { Customer } from './customer.js';

/** Scripts of the outbound calls, in turn. Most are conversations, so that calls are in progress at every restart. */
const SCRIPTS = ['00', '11', '06', '00', '04', '11', '01', '00', '20', '31'];
/** The scripts while hosts are cut off. One callee talks until the call ends, also to an agent that does not answer. */
const LONG_SCRIPTS = ['00', '08', '11', '06', '08', '04', '11', '01', '00', '20', '31'];
/** Every so many calls, one is received instead of placed, and one is canceled while the phone rings. */
const INBOUND_EVERY = 10;
const CANCELED_EVERY = 9;
/** Every so many calls, a test call is placed, too: it is work of the background. */
const TEST_EVERY = 6;
/** The callee does not answer, so that the call still rings when it is canceled. */
const UNANSWERED = '02';
const ASK_EVERY_MS = 1_000;
const ENDED_WITHIN_MS = 240_000;
const CALLER = '+12025550123';

export interface PlacedCall {
  callId: string;
  script: string;
  at: number;
}

/** The calls of a run, placed and received while roles restart. */
export interface Load {
  placed: PlacedCall[];
  /** The carrier's ids of the calls that the account received. */
  received: string[];
  /** Failures that the customer saw. */
  faults: string[];
  /** Resolves when every call has ended. */
  done: Promise<void>;
}

/**
 * Places calls at even intervals, and follows each to its end.
 * @param p.more asked after the first `calls` calls, whether to continue
 * @param p.mayFail whether faults are made: test calls may fail, and some calls are long
 */
export function startLoad(p: {
  client: Client;
  customer: Customer;
  carrierUrl: string;
  webhookUrl: string;
  calls: number;
  everyMs: number;
  more: () => boolean;
  mayFail: boolean;
  signal: AbortSignal;
}): Load {
  const { client, customer } = p;
  const scripts = p.mayFail ? LONG_SCRIPTS : SCRIPTS;
  const load: Load = { placed: [], received: [], faults: [], done: Promise.resolve() };

  async function receive(): Promise<void> {
    const response = await fetch(`${p.carrierUrl}/simulator/inbound`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ to: customer.number, from: CALLER, agent_id: customer.agentId, script: '00' }),
    });
    const { sid } = (await response.json()) as { sid?: string };
    if (sid === undefined) load.faults.push(`the carrier brought no call: ${response.status}`);
    else load.received.push(sid);
  }

  async function request(script: string, headers: Record<string, string> = {}): Promise<string | undefined> {
    const answer = await client.request('POST', '/outbound_call', {
      json: { to_phone_number: `+120255501${script}`, agent_id: customer.agentId, webhook_url: p.webhookUrl },
      headers: { ...headers, 'idempotency-key': randomUUID() },
    });
    return answer === undefined ? undefined : (JSON.parse(answer.body) as { call_id: string }).call_id;
  }

  async function place(script: string): Promise<void> {
    const callId = await request(script);
    if (callId === undefined) return;
    load.placed.push({ callId, script, at: Date.now() });
    if (script === UNANSWERED) await cancel(callId);
    await follow(callId);
  }

  async function placeTest(): Promise<void> {
    const headers = { authorization: `Bearer ${customer.testKey}` };
    const callId = await request('00', headers);
    if (callId === undefined) return;
    const status = await follow(callId, headers);
    if (p.mayFail || status === 'COMPLETED') return;
    load.faults.push(`the test call ${callId} has the status ${status ?? 'none'}`);
  }

  async function cancel(callId: string): Promise<void> {
    await sleep(2_000);
    // It may have ended before the request arrived.
    const expected = p.mayFail ? [200, 202, 409] : [200, 202];
    await client.request('POST', `/calls/${callId}/cancel`, { expected });
  }

  /** Returns the final status. */
  async function follow(callId: string, headers: Record<string, string> = {}): Promise<string | undefined> {
    const deadline = Date.now() + ENDED_WITHIN_MS;
    while (Date.now() < deadline && !p.signal.aborted) {
      const answer = await client.request('GET', `/calls/${callId}`, { headers });
      const { status } = JSON.parse(answer?.body ?? '{}') as { status?: string };
      if (['COMPLETED', 'FAILED', 'CANCELLED'].includes(status ?? '')) return status;
      await sleep(ASK_EVERY_MS);
    }
    load.faults.push(`${callId} did not end within ${ENDED_WITHIN_MS / 1_000} s`);
    return undefined;
  }

  async function run(): Promise<void> {
    const calls: Promise<void>[] = [];
    for (let number = 1; number <= p.calls || p.more(); number += 1) {
      if (p.signal.aborted) break;
      if (number % INBOUND_EVERY === 0) calls.push(receive());
      else calls.push(place(number % CANCELED_EVERY === 0 ? UNANSWERED : (scripts[number % scripts.length] ?? '00')));
      if (number % TEST_EVERY === 1) calls.push(placeTest());
      await sleep(p.everyMs);
    }
    await Promise.all(calls);
  }

  load.done = run();
  return load;
}
