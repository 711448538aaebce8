import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { createTwilioCarrier } from '../../src/telephony/twilio/adapter.js';

const authToken = '0123456789abcdef0123456789abcdef';
const sid = `CA${'a'.repeat(32)}`;
const request = {
  callId: 'call_1',
  to: '+12025550100',
  from: '+15005550006',
  ringTimeoutSeconds: 30,
  timeLimitSeconds: 60,
};

/** Runs `work` with a carrier whose server handles every request with this listener. */
async function withCarrierAt<T>(
  listener: RequestListener,
  work: (carrier: ReturnType<typeof carrierAt>) => Promise<T>,
) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await work(carrierAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

function carrierAt(baseUrl: string, timeoutMs = 500) {
  return createTwilioCarrier({
    account: {
      name: 'default',
      kind: 'simulator',
      isSimulated: true,
      carrierAccountId: `AC${'0'.repeat(32)}`,
      authToken,
      baseUrl,
      fromNumber: request.from,
    },
    publicBaseUrl: 'http://127.0.0.1:1',
    streamUrl: 'wss://stream.test/audio',
    timeoutMs,
  });
}

const respondWith =
  (status: number, body: unknown): RequestListener =>
  (_, response) =>
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(typeof body === 'string' ? body : JSON.stringify(body));

const carrierError = (status: number, code: number) =>
  respondWith(status, { code, message: 'The number +12025550100', status });

const words = { reason: expect.stringMatching(/^\p{L}[^_]+\.$/u) };
const rejectionOf = (code: string) => ({ rejection: { code, ...words, remedy: expect.stringMatching(/\w{3}/) } });
const operatorFault = (code: string, endReason = 'internal_error') => ({
  outcome: 'refused',
  endReason,
  ...rejectionOf(code),
});
const throttledBy = (code: string) => ({ outcome: 'throttled', ...rejectionOf(code) });

describe('dial', () => {
  it.each<[string, RequestListener, object]>([
    ['201 with a call', respondWith(201, { sid }), { outcome: 'accepted', carrierSid: sid }],
    [
      '201 with a call that is queued',
      respondWith(201, { sid, queue_time: '2500' }),
      { outcome: 'accepted', carrierSid: sid, queuedMs: 2_500 },
    ],
    ...['0', '-1', 'soon', null].map((queue_time): [string, RequestListener, object] => [
      `201 with queue_time ${queue_time}`,
      respondWith(201, { sid, queue_time }),
      { outcome: 'accepted', carrierSid: sid },
    ]),
    [
      '21211',
      carrierError(400, 21211),
      { outcome: 'refused', endReason: 'invalid_number', rejection: { code: '21211', ...words } },
    ],
    [
      '21214',
      carrierError(400, 21214),
      { outcome: 'refused', endReason: 'invalid_number', rejection: { code: '21214', ...words } },
    ],
    [
      '21217',
      carrierError(400, 21217),
      { outcome: 'refused', endReason: 'invalid_number', rejection: { code: '21217', ...words } },
    ],
    ['21215', carrierError(400, 21215), operatorFault('21215', 'rejected')],
    [
      '21216',
      carrierError(403, 21216),
      { outcome: 'refused', endReason: 'rejected', rejection: { code: '21216', ...words } },
    ],
    ['bad credentials', carrierError(401, 20003), operatorFault('20003')],
    ['401 without a code', respondWith(401, 'no'), operatorFault('HTTP 401')],
    ['403 without a code', respondWith(403, {}), operatorFault('HTTP 403')],
    ...[10001, 10002, 10005, 20403, 70051, 21205, 21609, 21210, 21212, 21219].map(
      (code): [string, RequestListener, object] => [`${code}`, carrierError(400, code), operatorFault(`${code}`)],
    ),
    [
      'another 4xx',
      carrierError(400, 21299),
      { outcome: 'refused', endReason: 'carrier_failed', rejection: { code: '21299' } },
    ],
    [
      'a 4xx with a code that is a text',
      respondWith(400, { code: '+12025550100', message: '' }),
      { outcome: 'refused', endReason: 'carrier_failed', rejection: { code: 'HTTP 400' } },
    ],
    [
      'a 4xx that is not JSON',
      respondWith(400, '<html>'),
      { outcome: 'refused', endReason: 'carrier_failed', rejection: { code: 'HTTP 400' } },
    ],
    ...[400, 403, 429].map((status): [string, RequestListener, object] => [
      `10004 with status ${status}`,
      carrierError(status, 10004),
      { ...throttledBy('10004'), afterMs: 5_000 },
    ]),
    ['22005', carrierError(400, 22005), { ...throttledBy('22005'), afterMs: 10_000 }],
    ['500 with 10004', carrierError(500, 10004), { outcome: 'ambiguous' }],
    ['429', carrierError(429, 20429), { outcome: 'throttled' }],
    ['408', carrierError(408, 0), { outcome: 'ambiguous' }],
    ['500', carrierError(500, 20500), { outcome: 'ambiguous' }],
    ['503 that is not JSON', respondWith(503, 'no'), { outcome: 'ambiguous' }],
    [
      '503 by RFC 9457',
      respondWith(503, { type: 'x', title: 'Down', status: 503, code: 20503 }),
      { outcome: 'ambiguous' },
    ],
    [
      '400 by RFC 9457',
      respondWith(400, { type: 'x', title: 'Bad', status: 400, code: 21211 }),
      { outcome: 'refused', endReason: 'invalid_number', rejection: { code: '21211', ...words } },
    ],
    ['201 with an empty body', respondWith(201, ''), { outcome: 'ambiguous' }],
    ['201 without a call', respondWith(201, {}), { outcome: 'ambiguous' }],
    ['a redirect', respondWith(302, ''), { outcome: 'ambiguous' }],
  ])('maps the response %s to an outcome', async (_, listener, outcome) => {
    expect(await withCarrierAt(listener, (carrier) => carrier.dial(request))).toEqual(outcome);
  });

  it('is ambiguous when the connection breaks after the request', async () => {
    const outcome = await withCarrierAt(
      (incoming) => incoming.socket.destroy(),
      (carrier) => carrier.dial(request),
    );
    expect(outcome).toEqual({ outcome: 'ambiguous' });
  });

  it('is ambiguous when there is no response before the timeout', async () => {
    expect(
      await withCarrierAt(
        () => undefined,
        (carrier) => carrier.dial(request),
      ),
    ).toEqual({ outcome: 'ambiguous' });
  });

  it('is ambiguous when the response never ends', async () => {
    let timer: NodeJS.Timeout | undefined;
    const drip: RequestListener = (_, response) => {
      response.writeHead(201);
      timer = setInterval(() => response.write(' '), 50);
    };
    expect(await withCarrierAt(drip, (carrier) => carrier.dial(request))).toEqual({ outcome: 'ambiguous' });
    clearInterval(timer);
  });

  it('is unreachable when no server listens on the port', async () => {
    expect(await carrierAt('http://127.0.0.1:1').dial(request)).toEqual({ outcome: 'unreachable' });
  });
});

describe('hangUp and limitTo', () => {
  it.each([
    ['21220', carrierError(400, 21220)],
    ['20404', carrierError(404, 20404)],
  ])('succeed when the carrier reports that the call is over (%s)', async (_, listener) => {
    await withCarrierAt(listener, async (carrier) => {
      await expect(carrier.hangUp(sid)).resolves.toBeUndefined();
      await expect(carrier.limitTo(sid, 60)).resolves.toBeUndefined();
    });
  });

  it('throw when the carrier is unavailable', async () => {
    await withCarrierAt(carrierError(503, 20503), async (carrier) => {
      await expect(carrier.hangUp(sid)).rejects.toMatchObject({ name: 'CarrierError', status: 503, code: 20503 });
      await expect(carrier.limitTo(sid, 60)).rejects.toMatchObject({ status: 503 });
    });
  });
});

describe('an error of the carrier', () => {
  it.each([
    ['an error response', carrierError(503, 20503)],
    ['a broken connection', ((incoming) => incoming.socket.destroy()) as RequestListener],
    ['an unparsable response', respondWith(200, '{')],
  ])('contains neither credentials nor phone numbers after %s', async (_, listener) => {
    await withCarrierAt(listener, async (carrier) => {
      for (const failing of [
        carrier.fetch(sid),
        carrier.hangUp(sid),
        carrier.findPlaced({ to: request.to, from: request.from, since: 0 }),
      ]) {
        const error: unknown = await failing.then(
          () => undefined,
          (reason: unknown) => reason,
        );
        expect(error).toBeInstanceOf(Error);
        const everything = inspect(error, { depth: 20, showHidden: true });
        expect(everything).not.toContain(Buffer.from(authToken).toString('base64').slice(8, 24));
        expect(everything).not.toContain(authToken);
        expect(everything).not.toMatch(/authorization|2025550100/i);
      }
    });
  });
});

describe('fetch', () => {
  it('is undefined for a call the carrier does not know', async () => {
    expect(await withCarrierAt(carrierError(404, 20404), (carrier) => carrier.fetch(sid))).toBeUndefined();
  });

  it.each([
    ['human', 'human'],
    ['machine_end_silence', 'voicemail'],
    ['machine_end_other', 'voicemail'],
    ['fax', 'voicemail'],
    ['unknown', 'unknown'],
  ])('maps answered_by %s to %s, as in callbacks', async (answered_by, answeredBy) => {
    const record = { sid, status: 'completed', answered_by };
    expect(await withCarrierAt(respondWith(200, record), (carrier) => carrier.fetch(sid))).toMatchObject({
      answeredBy,
    });
  });

  it('leaves out a duration that is no number of seconds, which no call can be settled with', async () => {
    for (const duration of ['-1', '1.5', '1e3', 'x']) {
      const record = { sid, status: 'completed', duration };
      const found = await withCarrierAt(respondWith(200, record), (carrier) => carrier.fetch(sid));
      expect(found).not.toHaveProperty('durationSeconds');
    }
  });

  it("returns the carrier's record without the fields that are null", async () => {
    const record = {
      sid,
      status: 'completed',
      duration: '9',
      answered_by: 'machine_start',
      date_created: 'Sat, 21 Nov 2026 07:51:08 +0000',
      start_time: null,
      end_time: 'Sat, 21 Nov 2026 07:51:20 +0000',
    };
    expect(await withCarrierAt(respondWith(200, record), (carrier) => carrier.fetch(sid))).toEqual({
      carrierSid: sid,
      direction: 'outbound',
      status: 'completed',
      durationSeconds: 9,
      answeredBy: 'voicemail',
      createdAt: Date.UTC(2026, 10, 21, 7, 51, 8),
      endedAt: Date.UTC(2026, 10, 21, 7, 51, 20),
    });
  });
});
