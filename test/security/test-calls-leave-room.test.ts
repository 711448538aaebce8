import { encodeCrockford } from '../../src/kernel/ids.js';
import { randomBytes } from 'node:crypto';
import type { WebSocket } from 'ws';
import { parseConfig } from '../../src/platform/config/config.js';
import { createCallRequests } from '../../src/calls/call-requests.js';
import { createCarrierBindings } from '../../src/telephony/carrier-bindings.js';
import { createStreamSlots } from '../../src/voice/media/stream-slots.js';
import { openMediaFixture, STREAM_URL, type MediaFixture } from '../integration/voice/support/media-fixture';
import { dialIn } from '../integration/voice/support/carrier-line';
import { newSid, SIMULATED } from '../support/sids.js';

const LIMITS = { all: 6, test: 3 };
const { carriers } = parseConfig({ NODE_ENV: 'test', STREAM_URL });

let media: MediaFixture;
const open: WebSocket[] = [];
beforeAll(async () => {
  media = await openMediaFixture({ limits: LIMITS, timings: { startWithinMs: 120_000 } });
});
afterAll(() => media.close());
afterEach(async () => {
  const gone = open.splice(0).map((socket) => new Promise((resolve) => socket.once('close', resolve).terminate()));
  await Promise.all(gone);
});

/**
 * Opens the media stream of a waiting call, as the carrier of the call's mode does. Returns the status if the stream is
 * rejected.
 * @param accountId the account of the call; a new one by default
 */
async function stream(mode: 'live' | 'test', accountId = `acct_${newSid('CA')}`): Promise<string> {
  const callId = `call_${encodeCrockford(randomBytes(16))}`;
  const carrierSid = newSid('CA');
  await createCallRequests(media.database).insert({
    _id: callId,
    accountId,
    mode,
    direction: 'outbound',
    fromPhoneNumber: '+12025550199',
    toPhoneNumber: '+12025550143',
    agent: { agentId: 'agent_1', instruction: 'Hello.', voice: 'amber', language: 'en-US' },
    inputParameters: '{}',
    externalCallId: '',
    ringTimeoutSeconds: 30,
    maxDurationSeconds: 600,
    createdAt: new Date(),
  });
  await createCarrierBindings(media.database).bind(callId, carrierSid, SIMULATED);
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

  it('several accounts leave slots to the test calls of others', () => {
    const slots = createStreamSlots({ all: 400, test: 200 });
    const socket = { once: () => undefined };
    const slotsOf = (accountId: string) => {
      let count = 0;
      while (slots.assign({ ...socket }, { mode: 'test', accountId })) count += 1;
      return count;
    };
    expect(['a', 'b', 'c', 'd', 'e', 'victim'].map(slotsOf)).toEqual([100, 50, 25, 13, 6, 3]);
  });
});
