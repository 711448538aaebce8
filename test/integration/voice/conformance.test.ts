import { CONFORMANCE, type ConformanceCase } from './support/conformance-cases';
import { openMediaFixture, type MediaFixture } from './support/media-fixture';
import { openRaw, type Ending } from './support/raw-socket';
import { UTF8_CONFORMANCE } from './support/utf8-cases';

/**
 * The time limit of a case. If the closing handshake stays incomplete, the server closes the TCP connection after 2 s.
 */
const ENDS_WITHIN_MS = 10_000;
/** The number of concurrent sockets. */
const AT_ONCE = 8;

let media: MediaFixture;
beforeAll(async () => {
  media = await openMediaFixture();
});
afterAll(() => media.close());

interface Outcome {
  ending: Ending | 'still open';
  pongs: string[];
}

async function outcomeOf(testCase: ConformanceCase): Promise<Outcome> {
  const socket = await openRaw(media.lineOptions(await media.placeCall()));
  try {
    for (const bytes of testCase.piece === undefined ? [Buffer.concat(testCase.send)] : testCase.send) {
      await socket.write(bytes, testCase.piece);
    }
    const tooLate = new Promise<'still open'>((resolve) => setTimeout(resolve, ENDS_WITHIN_MS, 'still open').unref());
    const ending = await Promise.race([socket.ended, tooLate]);
    return { ending, pongs: socket.pongs };
  } finally {
    socket.destroy();
  }
}

/** The cases whose outcome differs from the expected one. */
async function failuresOf(cases: readonly ConformanceCase[]): Promise<object[]> {
  const failures: object[] = [];
  const left = [...cases];
  const worker = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const { ending, pongs } = await outcomeOf(next);
      const expected = { code: next.code, ...(next.reason === undefined ? {} : { reason: next.reason }) };
      const got = typeof ending === 'string' || next.reason !== undefined ? ending : { code: ending.code };
      const isSame = JSON.stringify([got, next.pongs && pongs]) === JSON.stringify([expected, next.pongs]);
      if (!isSame) failures.push({ case: next.name, expected, got, ...(next.pongs ? { pongs } : {}) });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return failures;
}

describe('the media websocket', () => {
  it.each(Object.entries({ ...CONFORMANCE, ...UTF8_CONFORMANCE }))('passes the cases of group %s', async (_, cases) => {
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
    expect(await failuresOf(cases)).toEqual([]);
  });

  it.each([
    ['an older version', { 'Sec-WebSocket-Version': '12' }],
    ['no version', { 'Sec-WebSocket-Version': '' }],
    ['no key', { 'Sec-WebSocket-Key': '' }],
    ['an invalid key', { 'Sec-WebSocket-Key': 'c2hvcnQ=' }],
    ['another protocol', { Upgrade: 'h2c' }],
  ])('is rejected with %s', async (_, headers) => {
    const socket = await openRaw(media.lineOptions(await media.placeCall()), headers);
    expect(socket.head).toMatch(/^HTTP\/1\.1 4(00|05|26) /);
    socket.destroy();
  });

  it('accepts no extension and no subprotocol', async () => {
    const offers = { 'Sec-WebSocket-Extensions': 'permessage-deflate', 'Sec-WebSocket-Protocol': 'chat' };
    const socket = await openRaw(media.lineOptions(await media.placeCall()), offers);
    expect(socket.head).toMatch(/^HTTP\/1\.1 101 /);
    expect(socket.head).not.toMatch(/Sec-WebSocket-(Extensions|Protocol)/i);
    socket.destroy();
  });
});
