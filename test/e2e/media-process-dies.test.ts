import { setTimeout as sleep } from 'node:timers/promises';
import { INTRODUCTION, LINE_BROKE } from '../../src/voice/engines/offline/phrases.js';
import { ledgerAccountId } from '../../src/kernel/ids.js';
import { usdFromMicros } from '../../src/kernel/money.js';
import type { Runtime } from '../../src/dev/runtime-file.js';
import type { Delivery } from '../../src/dev/webhook-inbox.js';
import { createAgents } from '../../src/agents/agents.js';
import { openDatabase, type Database } from '../../src/database.js';
import { createLedger } from '../../src/billing/ledger/ledger.js';
import type { CallDocument } from '../../src/calls/call-model.js';
import { carrierRecordOf, mediaProcessOf, turnsStored, waitFor } from '../support/carried-call.js';
import { placeCall } from '../support/placed-call.js';
import { launch, type Launched } from '../support/dev-stack.js';

jest.setTimeout(300_000);

/** No webhook may be sent twice. The test waits this long to see whether one is repeated. */
const REPEAT_WITHIN_MS = 3_000;
const BYTES_PER_MS = 32;

describe('the end of a media process in mid-call', () => {
  let stack: Launched;
  let runtime: Runtime;
  let database: Database;
  let accountId: string;

  beforeAll(async () => {
    stack = await launch({ env: { LOG_LEVEL: 'info' } });
    runtime = await stack.runtime();
    database = await openDatabase(runtime.mongodb_uri);
    accountId = (await createAgents(database).find(runtime.agent_id))?.accountId ?? '';
    // An inbound call uses the webhook URL of its agent.
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

  /** The mean amplitude of the agent's track between two times of the call, given in ms. */
  function agentLoudness(wav: Buffer, from: number, to: number): number {
    let sum = 0;
    const [first, last] = [44 + Math.round(from * 8) * 4, Math.min(wav.length - 4, 44 + Math.round(to * 8) * 4)];
    for (let at = first; at < last; at += 4) sum += Math.abs(wav.readInt16LE(at + 2));
    return sum / Math.max(1, (last - first) / 4);
  }

  it.each([
    ['an outbound', 'SIGKILL'],
    ['an inbound', 'SIGKILL'],
    ['an outbound', 'SIGTERM'],
  ] as const)('costs %s call nothing after %s: it continues in the other process', async (direction, signal) => {
    const callId = await (direction === 'an inbound' ? placeInbound() : placeOutbound());
    await turnsStored(database, callId, 1);
    // A killed process loses the data that it had in memory: at most four seconds of the recording.
    await sleep(signal === 'SIGKILL' ? 2_000 : 0);
    const before = await turnsStored(database, callId, 1);
    const victim = await mediaProcessOf(stack, callId);
    process.kill(victim, signal);
    const call = await ended(callId);
    await sleep(REPEAT_WITHIN_MS);

    const reason = direction === 'an inbound' ? 'caller_hangup' : 'callee_hangup';
    expect(call).toMatchObject({ status: 'COMPLETED', endReason: reason, resumptions: 1, hasRecording: true });
    const carried = await carrierRecordOf(runtime.carrier_url, call.carrierSid ?? '');
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
    const playedOfFirst = Math.min(first?.endMs ?? 0, (first?.startMs ?? 0) + 1_000);
    expect(agentLoudness(wav, first?.startMs ?? 0, playedOfFirst)).toBeGreaterThan(100);
    expect(agentLoudness(wav, bridge?.startMs ?? 0, bridge?.endMs ?? 0)).toBeGreaterThan(100);
  });

  it('leaves an exact balance and no unfinished recording', async () => {
    const ledger = createLedger(database);
    const id = ledgerAccountId(accountId, 'live');
    const calls = await database.calls.find({ accountId, mode: 'live' }).lean<CallDocument[]>();
    const billed = calls.reduce((sum, call) => sum + (call.costMicros ?? 0), 0);
    expect(await ledger.balance(id)).toMatchObject({ heldMicros: 0, billedMicros: billed });
    await expect(ledger.audit(id)).resolves.toMatchObject({ balanced: true });
    expect(await database.recordingFiles.countDocuments({ open: true })).toBe(0);
  });

  it('of both processes makes the carrier reconnect until one is back, or play an apology', async () => {
    const callId = await placeOutbound();
    await turnsStored(database, callId, 1);
    for (const pid of (await stack.runtime(({ pids }) => pids.media.length === 2)).pids.media) {
      process.kill(pid, 'SIGKILL');
    }
    const call = await ended(callId);
    expect(call.status).toBe('COMPLETED');
    expect(['callee_hangup', 'media_failed']).toContain(call.endReason);
    const { twiml } = await carrierRecordOf(runtime.carrier_url, call.carrierSid ?? '');
    const apologies = twiml.filter((document) => document.includes('<Say>'));
    expect(apologies).toHaveLength(call.endReason === 'media_failed' ? 1 : 0);
    expect(await webhooksOf(callId)).toHaveLength(1);
  });
});
