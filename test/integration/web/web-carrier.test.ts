import { randomBytes, randomUUID } from 'node:crypto';
import { encodeCrockford } from '../../../src/kernel/ids.js';
import { createLostAccess } from '../../../src/identity/access/lost-access.js';
import type { MediaEvent } from '../../../src/telephony/media.js';
import type { CarrierApi } from '../../../src/telephony/port.js';
import { createWebCarrier } from '../../../src/telephony/web/carrier.js';
import { createWebCodec } from '../../../src/telephony/web/codec.js';
import { legIdOf } from '../../../src/telephony/web/leg.js';
import { createWebLegs, type WebLegs } from '../../../src/telephony/web/legs.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { watchLegs } from '../../../src/voice/web/leg-watch.js';
import { describeCodec, itChecksCallIds } from '../../support/carrier-contract/api-cases';
import { eventually } from '../../support/http/harness.js';
import { openTestDatabase } from '../../support/store/test-database';

let database: Awaited<ReturnType<typeof openTestDatabase>>;
let legs: WebLegs;
let carrier: CarrierApi;
beforeAll(async () => {
  database = await openTestDatabase('web_legs');
  legs = createWebLegs(database);
  carrier = createWebCarrier({ legs, mode: 'live' });
});
afterAll(() => database.close());

const newCallId = () => `call_${encodeCrockford(randomBytes(16))}`;
const newLegId = () => legIdOf(newCallId());

const double = {
  newCallId: newLegId,
  foreignIds: [`CA${'0'.repeat(32)}`, randomUUID(), '../../keys', newCallId(), `${newLegId()}/`, ''],
  encode: (events: readonly MediaEvent[]) =>
    events.map((event) => ({ data: Buffer.from(JSON.stringify(wordsOf(event))), isBinary: false })),
  interpret(message: string | Uint8Array) {
    const { event, payload = '', name = '' } = JSON.parse(String(message)) as Record<string, string>;
    if (event === 'media') return { audio: Buffer.from(payload, 'base64').toString('hex') };
    return event === 'clear' ? ('clear' as const) : { mark: name };
  },
};

/** Writes an event as a browser does. */
function wordsOf(event: MediaEvent): object {
  switch (event.event) {
    case 'start':
      return { event: 'start', token: 'a' };
    case 'media':
      return {
        event: 'media',
        timestamp: event.timestampMs,
        payload: Buffer.from(event.mulaw).toString('base64'),
      };
    case 'dtmf':
      return { event: 'digits', digits: event.digit };
    default:
      return event;
  }
}

/** Stores a leg. With a socket, it has started. */
async function newLeg(p: { started?: boolean; mode?: 'live' | 'test' } = {}): Promise<string> {
  const callId = newCallId();
  await legs.create({ callId, accountId: 'acc_1', mode: p.mode ?? 'live', tokenHash: 'first', tokenMs: 60_000 });
  const leg = (await legs.find(legIdOf(callId)))!;
  const claim = { leg, tokenHash: 'first', socketId: 'socket', streamNumber: 0, nextTokenHash: 'next' };
  if (p.started) expect(await legs.claim(claim)).not.toBeNull();
  return leg._id;
}

/** Moves times of a leg to the past. */
async function age(legId: string, ms: number, names: readonly ('startedAt' | 'seenAt' | 'expiresAt')[]): Promise<void> {
  const leg = (await legs.find(legId))!;
  const times = names.map((name) => [name, new Date(leg[name]!.getTime() - ms)]);
  await database.webLegs.updateOne({ _id: legId }, { $set: Object.fromEntries(times) as object });
}

describe('the carrier of calls in the browser', () => {
  itChecksCallIds(() => ({ carrier, double }));
  describeCodec(() => {
    const start = { carrierSid: newLegId(), streamId: randomUUID() };
    return { double, start, createCodec: () => createWebCodec({ ...start, isTelephoneAudio: true, streamNumber: 0 }) };
  });

  it('cannot place a call, and says so', async () => {
    const request = {
      callId: newCallId(),
      to: '+12025550100',
      from: 'web',
      ringTimeoutSeconds: 30,
      timeLimitSeconds: 60,
    };
    expect(await carrier.dial(request)).toEqual({
      outcome: 'refused',
      endReason: 'carrier_failed',
      rejection: { code: 'dial_unsupported', reason: expect.stringContaining('POST /web_calls') },
    });
    expect(await carrier.findPlaced({ to: request.to, from: 'web', since: 0 })).toEqual([]);
  });

  it('knows a leg only in its own mode', async () => {
    const legId = await newLeg({ mode: 'test' });
    expect(await carrier.fetch(legId)).toBeUndefined();
    await carrier.hangUp(legId);
    expect(await createWebCarrier({ legs, mode: 'test' }).fetch(legId)).toMatchObject({ status: 'ringing' });
  });

  it('ends a call once', async () => {
    const legId = await newLeg({ started: true });
    expect(await carrier.fetch(legId)).toMatchObject({ status: 'in-progress', direction: 'inbound' });
    await age(legId, 4_500, ['startedAt']);
    await carrier.hangUp(legId);
    const ended = await carrier.fetch(legId);
    expect(ended).toMatchObject({ status: 'completed', durationSeconds: 5 });
    await carrier.hangUp(legId);
    await age(legId, 60_000, ['seenAt']);
    expect(await carrier.fetch(legId)).toEqual({ ...ended, seenAt: ended!.seenAt! - 60_000 });
  });

  it('ends a leg without a heartbeat for 30 s at its last one', async () => {
    const legId = await newLeg({ started: true });
    await age(legId, 40_000, ['startedAt']);
    await age(legId, 29_000, ['seenAt']);
    expect(await carrier.fetch(legId)).toMatchObject({ status: 'in-progress' });
    await age(legId, 2_000, ['seenAt']);
    const { seenAt, startedAt } = (await legs.find(legId))!;
    const record = await carrier.fetch(legId);
    const durationSeconds = Math.ceil((seenAt.getTime() - startedAt!.getTime()) / 1_000);
    expect(record).toMatchObject({ status: 'completed', endedAt: seenAt.getTime(), durationSeconds });
    await legs.beat([{ legId, socketId: 'socket' }]);
    expect(await carrier.fetch(legId)).toEqual(record);
  });

  it('ends a leg at its limit, which can be raised', async () => {
    const legId = await newLeg({ started: true });
    await age(legId, 61_000, ['startedAt']);
    await carrier.limitTo(legId, 100);
    expect(await carrier.fetch(legId)).toMatchObject({ status: 'in-progress' });
    await age(legId, 42_000, ['startedAt']);
    expect(await carrier.fetch(legId)).toMatchObject({ status: 'completed', durationSeconds: 100 });
  });

  it('cancels a leg that no browser opened within 60 s', async () => {
    const legId = await newLeg();
    expect(await carrier.fetch(legId)).toMatchObject({ status: 'ringing' });
    await age(legId, 61_000, ['expiresAt']);
    expect(await carrier.fetch(legId)).toMatchObject({ status: 'canceled', durationSeconds: 0 });
  });

  it('does not lower a limit, because a late request may have the older one', async () => {
    const legId = await newLeg({ started: true });
    await carrier.limitTo(legId, 300);
    await carrier.limitTo(legId, 100);
    expect(await legs.find(legId)).toMatchObject({ limitSeconds: 300 });
  });

  it('accepts the token before the last one, because a browser may not have received the last one', async () => {
    const legId = await newLeg({ started: true });
    expect(await legs.rotate({ legId, socketId: 'socket' }, 'third', 'next')).toBe(true);
    const leg = (await legs.find(legId))!;
    const claim = { leg, tokenHash: 'next', socketId: 'other', streamNumber: 1, nextTokenHash: 'fourth' };
    expect(await legs.claim(claim)).toMatchObject({ socketId: 'other', streamNumber: 1 });
    expect(await legs.claim({ ...claim, tokenHash: 'third' })).toBeNull();
    expect(await legs.rotate({ legId, socketId: 'socket' }, 'fifth', 'fourth')).toBe(false);
  });
});

describe('the watch of legs', () => {
  /** Starts a watch whose reports about legs are passed to a function of the test. */
  function startWatch(onReport: (legId: string) => Promise<void>) {
    const lines: string[] = [];
    const write = (line: string) => void lines.push(line);
    const logger = createLogger({ role: 'test', level: 'info', destination: { write } });
    const events = {
      handleStatus: (_callId: string, { carrierSid }: { carrierSid: string }) => onReport(carrierSid),
    };
    const watch = watchLegs({ legs, lostAccess: createLostAccess(database), events, logger, everyMs: 20 });
    const logged = () => lines.map((line) => (JSON.parse(line) as { level: number; msg: string }).level);
    return { watch, logged };
  }

  async function newLostLeg(): Promise<string> {
    const legId = await newLeg({ started: true });
    await age(legId, 40_000, ['startedAt', 'seenAt']);
    return legId;
  }

  const seenAtOf = async (legId: string) => (await legs.find(legId))!.seenAt.getTime();

  it('stores heartbeats while reports of lost legs are slow', async () => {
    const own = await newLeg({ started: true });
    await newLostLeg();
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    let isAsked = false;
    const { watch } = startWatch(async () => {
      isAsked = true;
      await answered;
    });
    const nothing = () => undefined;
    watch.add({ legId: own, socketId: 'socket', end: nothing, leave: nothing, renewToken: async () => undefined });
    try {
      await eventually(async () => isAsked);
      for (let beats = 0; beats < 2; beats++) {
        const before = await seenAtOf(own);
        expect(await eventually(async () => (await seenAtOf(own)) > before, 3_000)).toBe(true);
      }
    } finally {
      answer();
      await watch.close();
    }
  });

  it('reports the other lost legs if one report fails, and logs when that begins and ends', async () => {
    const [bad, good] = [await newLostLeg(), await newLostLeg()];
    await age(bad, 10_000, ['seenAt']);
    let failures = 0;
    let isHealed = false;
    const { watch, logged } = startWatch(async (legId) => {
      if (legId !== bad || isHealed) return;
      failures += 1;
      throw new Error('no answer');
    });
    try {
      await eventually(async () => (await legs.find(good))!.open === false && failures > 2);
      expect(logged()).toEqual([40]);
      isHealed = true;
      await eventually(async () => (await legs.find(bad))!.open === false && logged().length > 1);
      expect(logged()).toEqual([40, 30]);
    } finally {
      await watch.close();
    }
  });
});
