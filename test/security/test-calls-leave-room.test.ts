import { encodeCrockford } from '../../src/kernel/ids.js';
import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { WebSocket } from 'ws';
import { parseConfig } from '../../src/platform/config/config.js';
import { createCallRequests } from '../../src/calls/call-requests.js';
import { createCarrierBindings } from '../../src/telephony/carrier-bindings.js';
import { createStreamSlots } from '../../src/voice/media/stream-slots.js';
import { openMediaFixture, STREAM_URL, type MediaFixture } from '../integration/voice/support/media-fixture';
import { dialIn } from '../integration/voice/support/carrier-line';
import { newSid, SIMULATED } from '../support/sids.js';
import { callRequest } from '../support/store/call-request.js';

const LIMITS = { all: 6, test: 3 };
const { carriers } = parseConfig({ NODE_ENV: 'test', STREAM_URL });

let media: MediaFixture;
const open: WebSocket[] = [];
beforeAll(async () => {
  media = await openMediaFixture({ limits: LIMITS, timings: { startWithinMs: 120_000 } });
});
afterAll(() => media.close());
afterEach(async () => {
  const gone = open
    .splice(0)
    .filter(({ readyState, CLOSED }) => readyState !== CLOSED)
    .map((socket) => new Promise((resolve) => socket.once('close', resolve).terminate()));
  await Promise.all(gone);
});

/**
 * Opens the media stream of a waiting call, as the carrier of the call's mode does. Returns the status if the stream is
 * rejected.
 * @param accountId the account of the call; a new one by default
 * @param isUnbound whether the carrier's call is over
 */
async function stream(mode: 'live' | 'test', accountId = `acct_${newSid('CA')}`, isUnbound = false): Promise<string> {
  const callId = `call_${encodeCrockford(randomBytes(16))}`;
  const carrierSid = newSid('CA');
  await createCallRequests(media.database).insert(
    callRequest({ _id: callId, accountId, mode, toPhoneNumber: '+12025550143' }),
  );
  if (!isUnbound) await createCarrierBindings(media.database).bind(callId, carrierSid, SIMULATED);
  const { authToken } = carriers[mode];
  try {
    open.push(await dialIn({ port: media.port, callId, carrierSid, authToken, streamUrl: STREAM_URL }));
    return 'open';
  } catch (error) {
    return (error as Error).message;
  }
}

const many = (count: number, mode: 'live' | 'test', accountId?: string) =>
  Promise.all(Array.from({ length: count }, () => stream(mode, accountId))).then((all) => all.toSorted());

describe('test calls and the streams of a media server', () => {
  it('test calls have half of the streams, and live calls find the other half free', async () => {
    expect(await many(LIMITS.all, 'test')).toEqual([
      ...Array<string>(LIMITS.test).fill('open'),
      ...Array<string>(LIMITS.all - LIMITS.test).fill('refused with 503'),
    ]);
    expect(await many(LIMITS.all - LIMITS.test, 'live')).toEqual(Array(LIMITS.all - LIMITS.test).fill('open'));
    expect(await stream('live')).toBe('refused with 503');
  }, 60_000);

  it('live calls may have all streams', async () => {
    expect(await many(LIMITS.all, 'live')).toEqual(Array(LIMITS.all).fill('open'));
    expect(await stream('test')).toBe('refused with 503');
  }, 60_000);

  it('the slot of an ended test call is free again', async () => {
    expect(await many(LIMITS.test, 'test')).toEqual(Array(LIMITS.test).fill('open'));
    const [first] = open.splice(0, 1);
    await new Promise((resolve) => first?.once('close', resolve).terminate());
    // The server notices the end of the stream a moment later.
    let last = '';
    for (let tries = 0; tries < 50 && last !== 'open'; tries += 1) last = await stream('test');
    expect(last).toBe('open');
  }, 60_000);

  it('one account leaves slots to the test calls of others', async () => {
    expect(await many(LIMITS.test, 'test', 'acct_a')).toEqual(['open', 'open', 'refused with 503']);
    expect(await many(LIMITS.test, 'test', 'acct_b')).toEqual(['open', 'refused with 503', 'refused with 503']);
  }, 60_000);

  it('a new account takes the newest stream of the account with the most', async () => {
    expect(await many(LIMITS.test, 'test', 'acct_a')).toEqual(['open', 'open', 'refused with 503']);
    const [oldest, newest] = [...open];
    expect(await stream('test', 'acct_b')).toBe('open');
    const ended = new Promise((resolve) => newest?.once('close', resolve));
    expect(await stream('test', 'acct_c')).toBe('open');
    await ended;
    expect(oldest?.readyState).toBe(oldest?.OPEN);
    // Now each account has one stream, and no stream is ended for another.
    for (const accountId of ['acct_a', 'acct_b', 'acct_d']) {
      expect(await stream('test', accountId)).toBe('refused with 503');
    }
  }, 60_000);

  it('a call that has ended takes no stream of another account', async () => {
    expect(await many(LIMITS.test, 'test', 'acct_a')).toEqual(['open', 'open', 'refused with 503']);
    expect(await stream('test', 'acct_b')).toBe('open');
    expect(await stream('test', 'acct_c', true)).toBe('refused with 404');
    expect(open.map(({ readyState, OPEN }) => readyState === OPEN)).toEqual([true, true, true]);
  }, 60_000);

  describe('with 200 slots', () => {
    let slots: ReturnType<typeof createStreamSlots>;
    const sockets = new Map<string, EventEmitter[]>();
    beforeEach(() => {
      slots = createStreamSlots({ all: 400, test: 200 });
      sockets.clear();
    });

    /** Opens streams of an account. Returns how many of its streams are then open. */
    function take(accountId: string, count: number): number {
      for (let n = 0; n < count; n += 1) {
        const socket = Object.assign(new EventEmitter(), { destroyed: false, destroy: () => socket.emit('close') });
        if (slots.assign(socket, { mode: 'test', accountId })) own(accountId).push(socket);
        socket.once('close', () => own(accountId).splice(own(accountId).indexOf(socket), 1));
      }
      return own(accountId).length;
    }
    function own(accountId: string): EventEmitter[] {
      const all = sockets.get(accountId) ?? [];
      sockets.set(accountId, all);
      return all;
    }

    it('a few accounts with many test calls leave 20 streams to every other account', () => {
      expect(['a', 'b', 'c', 'd', 'e'].map((each) => take(each, 100))).toEqual([100, 50, 25, 20, 20]);
      expect(['v', 'w', 'x', 'y'].map((each) => take(each, 10))).toEqual([10, 10, 10, 10]);
      expect(take('z', 100)).toBe(20);
      expect([...sockets.values()].reduce((sum, { length }) => sum + length, 0)).toBe(200);
    });

    it('an account keeps its first 20 streams, however many accounts come', () => {
      expect(take('victim', 20)).toBe(20);
      for (let n = 0; n < 30; n += 1) take(`other ${n}`, 100);
      expect(own('victim')).toHaveLength(20);
    });

    it('a socket that has closed already takes none', () => {
      const gone = Object.assign(new EventEmitter(), { destroyed: true, destroy: () => true });
      expect(slots.acquire(gone)).toBe(false);
      for (let n = 0; n < 200; n += 1) expect(slots.assign(gone, { mode: 'test', accountId: 'gone' })).toBe(false);
      expect(take('a', 100)).toBe(100);
    });

    it('all slots are used again when calls end', () => {
      take('a', 100);
      for (const socket of own('a').slice()) socket.emit('close');
      expect(take('b', 200)).toBe(100);
    });
  });
});
