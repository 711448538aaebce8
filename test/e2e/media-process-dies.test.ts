import { setTimeout as sleep } from 'node:timers/promises';
import { INTRODUCTION, LINE_BROKE } from '../../src/voice/engines/offline/lines.js';
import { ledgerAccountId } from '../../src/kernel/ids.js';
import { usdFromMicros } from '../../src/kernel/money.js';
import type { Runtime } from '../../src/dev/runtime-file.js';
import type { Delivery } from '../../src/dev/webhook-inbox.js';
import { createAgents } from '../../src/agents/agents.js';
import { openDatabase, type Database } from '../../src/database.js';
import { createLedger } from '../../src/billing/ledger/ledger.js';
import type { CallDocument } from '../../src/calls/call-model.js';
import { carriedCall, carrierOf, turnsStored, waitFor } from '../support/carried-call.js';
import { placeCall } from '../support/placed-call.js';
import { launch, type Launched } from '../support/dev-stack.js';

jest.setTimeout(300_000);

/** A second delivery would be a fault; it gets this long to show itself. */
const REPEAT_WITHIN_MS = 3_000;
const BYTES_PER_MS = 32;

describe('a media process that dies in mid-call', () => {
  let stack: Launched;
  let runtime: Runtime;
  let database: Database;
  let accountId: string;

  beforeAll(async () => {
    stack = await launch({ env: { LOG_LEVEL: 'info' } });
    runtime = await stack.runtime();
    database = await openDatabase(runtime.mongodb_uri);
    accountId = (await createAgents(database).find(runtime.agent_id))?.accountId ?? '';
    // The webhook of an inbound call goes where the agent says.
    await database.agents.updateOne({ _id: runtime.agent_id }, { $set: { webhookUrl: runtime.webhook_inbox_url } });
  });
  afterAll(async () => {
    await database?.close();
    await stack?.destroy();
  });

  async function placeOutbound(): Promise<string> {
    const placed = await placeCall(runtime.base_url, runtime.live_api_key, {
      to_phone_number: '+12025550100',
      agent_id: runtime.agent_id,
      webhook_url: runtime.webhook_inbox_url,
    });
    return placed.call_id;
  }

  async function placeInbound(): Promise<string> {
    const response = await fetch(`${runtime.carrier_url}/simulator/inbound`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ to: '+12025550199', from: '+12025550123', forwarded_from: '+12025550199' }),
    });
    const { sid } = (await response.json()) as { sid: string };
    return (await waitFor('the inbound call', () => database.calls.findOne({ carrierSid: sid }).lean()))._id;
  }

  async function webhooksOf(callId: string): Promise<Delivery[]> {
    const deliveries = (await (await fetch(runtime.webhook_inbox_url)).json()) as Delivery[];
    return deliveries.filter(({ body }) => (body as { call_id?: unknown }).call_id === callId);
  }

  async function ended(callId: string): Promise<CallDocument> {
    return waitFor(`the end of ${callId}`, async () => {
      const call = await database.calls.findById(callId).lean<CallDocument>();
      return call?.endReason !== undefined && (await webhooksOf(callId)).length > 0 ? call : undefined;
    });
  }

  /** The mean of the agent's track between two times of the call, ms. */
  function agentBetween(wav: Buffer, from: number, to: number): number {
    let sum = 0;
    const [first, last] = [44 + Math.round(from * 8) * 4, Math.min(wav.length - 4, 44 + Math.round(to * 8) * 4)];
    for (let at = first; at < last; at += 4) sum += Math.abs(wav.readInt16LE(at + 2));
    return sum / Math.max(1, (last - first) / 4);
  }

  it.each([
    ['an outbound', 'SIGKILL'],
    ['an inbound', 'SIGKILL'],
    ['an outbound', 'SIGTERM'],
  ] as const)('costs %s call nothing by %s: it goes on in the other one', async (direction, signal) => {
    const callId = await (direction === 'an inbound' ? placeInbound() : placeOutbound());
    await turnsStored(database, callId, 1);
    // What is not written yet dies with the process: four seconds of the recording at the most.
    await sleep(signal === 'SIGKILL' ? 2_000 : 0);
    const before = await turnsStored(database, callId, 1);
    const victim = await carrierOf(stack, callId);
    process.kill(victim, signal);
    const call = await ended(callId);
    await sleep(REPEAT_WITHIN_MS);

    const reason = direction === 'an inbound' ? 'caller_hangup' : 'callee_hangup';
    expect(call).toMatchObject({ status: 'COMPLETED', endReason: reason, resumptions: 1, hasRecording: true });
    const carried = await carriedCall(runtime.carrier_url, call.carrierSid ?? '');
    expect(carried.streams).toHaveLength(2);
    expect(call.durationSeconds).toBe(carried.duration_seconds);
    const webhooks = await webhooksOf(callId);
    expect(webhooks).toHaveLength(1);
    expect(webhooks[0]?.body).toMatchObject({
      status: 'COMPLETED',
      cost: usdFromMicros(call.costMicros ?? 0),
      transcription: call.transcription,
      recording_url: `${runtime.base_url}/calls/${callId}/recording`,
    });

    const result = await turnsStored(database, callId, before.turns.length + 1);
    const texts = result.turns.map(({ text }) => text);
    expect(texts.slice(0, before.turns.length)).toEqual(before.turns.map(({ text }) => text));
    expect(texts.filter((text) => text.includes(INTRODUCTION))).toHaveLength(1);
    expect(texts.filter((text) => text.startsWith(LINE_BROKE))).toHaveLength(1);

    const response = await fetch(`${runtime.base_url}/calls/${callId}/recording`, {
      headers: { authorization: `Bearer ${runtime.live_api_key}` },
    });
    const wav = Buffer.from(await response.arrayBuffer());
    expect(wav.length).toBe(Number(response.headers.get('content-length')));
    const bridge = result.turns.find(({ text }) => text.startsWith(LINE_BROKE));
    expect(wav.length).toBeGreaterThan((bridge?.endMs ?? Infinity) * BYTES_PER_MS);
    const first = result.turns[0];
    const heardOfFirst = Math.min(first?.endMs ?? 0, (first?.startMs ?? 0) + 1_000);
    expect(agentBetween(wav, first?.startMs ?? 0, heardOfFirst)).toBeGreaterThan(100);
    expect(agentBetween(wav, bridge?.startMs ?? 0, bridge?.endMs ?? 0)).toBeGreaterThan(100);
  });

  it('leaves the account with exactly what the calls did not cost, and no share of a recording unfinished', async () => {
    const ledger = createLedger(database);
    const id = ledgerAccountId(accountId, 'live');
    const calls = await database.calls.find({ accountId, mode: 'live' }).lean<CallDocument[]>();
    const billed = calls.reduce((sum, call) => sum + (call.costMicros ?? 0), 0);
    expect(await ledger.balance(id)).toMatchObject({ heldMicros: 0, billedMicros: billed });
    await expect(ledger.audit(id)).resolves.toMatchObject({ balanced: true });
    expect(await database.recordingFiles.countDocuments({ open: true })).toBe(0);
  });

  it('and both of them at once: the carrier comes back until one of them is there, or hears an apology', async () => {
    const callId = await placeOutbound();
    await turnsStored(database, callId, 1);
    for (const pid of (await stack.runtime(({ pids }) => pids.media.length === 2)).pids.media) {
      process.kill(pid, 'SIGKILL');
    }
    const call = await ended(callId);
    expect(call.status).toBe('COMPLETED');
    expect(['callee_hangup', 'media_failed']).toContain(call.endReason);
    const { twiml } = await carriedCall(runtime.carrier_url, call.carrierSid ?? '');
    const apologies = twiml.filter((document) => document.includes('<Say>'));
    expect(apologies).toHaveLength(call.endReason === 'media_failed' ? 1 : 0);
    expect(await webhooksOf(callId)).toHaveLength(1);
  });
});
