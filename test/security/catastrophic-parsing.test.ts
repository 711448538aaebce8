import type { IncomingMessage } from 'node:http';
import { toSpokenWords } from '../../src/voice/audio/grammar.js';
import { createSentenceSplitter } from '../../src/voice/engines/pipeline/sentences.js';
import { serverSentEvents } from '../../src/kernel/server-sent-events.js';
import { contentTypeOf } from '../../src/platform/http/raw-body.js';
import { startService, type Service } from '../support/http/harness.js';
import { blankCharset, blankCharsetRequest, sendBytes } from '../support/hostile-requests.js';
import { LIVE_WITHIN_MS, slowestLivenessResponse, startWatch } from '../support/liveness.js';

/** Linear parsing takes far less time than this, even on a busy machine. Backtracking takes far more. */
const AT_ONCE_MS = 1_000;

async function measureMs(work: () => unknown): Promise<number> {
  const watch = startWatch();
  await work();
  return watch();
}

const parse = (type: string) => contentTypeOf({ headers: { 'content-type': type } } as IncomingMessage);

describe('a header never blocks the process', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ worker: false });
  });
  afterAll(() => service.close());

  // A parser that backtracks takes 8 s for 2,800 blanks, and minutes for 7,000.
  it.each([2_800, 7_000])('health checks respond while a Content-Type with %d blanks is parsed', async (blanks) => {
    const { bytes } = blankCharsetRequest(blanks);
    const slowest = await slowestLivenessResponse(service.baseUrl, () =>
      sendBytes(service.port, Buffer.from(bytes.toString('latin1').replace('\r\n', '\r\nConnection: close\r\n'))),
    );
    expect(slowest).toBeLessThan(LIVE_WITHIN_MS);
  });
});

describe('a Content-Type header', () => {
  it.each([2_800, 100_000])('with %d blanks is parsed at once', async (blanks) => {
    expect(await measureMs(() => parse(blankCharset(blanks)))).toBeLessThan(AT_ONCE_MS);
    expect(await measureMs(() => parse(`a; charset${blankCharset(blanks)}`))).toBeLessThan(AT_ONCE_MS);
    expect(await measureMs(() => parse(`application/json${'; charset'.repeat(blanks / 100)}`))).toBeLessThan(
      AT_ONCE_MS,
    );
  });

  it.each([
    ['application/json', 'utf-8'],
    ['Application/JSON ; charset=UTF-8', 'utf-8'],
    ['application/json;charset="us-ascii"', 'us-ascii'],
    ['application/json; charset = utf-16 ', 'utf-16'],
    ['application/json; boundary=x; charset=latin1; charset=utf-8', 'latin1'],
    ['application/json; charset=; charset=utf-16', 'utf-16'],
    ['application/json; charset=""', 'utf-8'],
    ['application/json; xcharset=utf-16', 'utf-8'],
    ['application/json; charset', 'utf-8'],
  ])('%s has the charset %s', (type, charset) => {
    expect(parse(type)).toEqual({ type: 'application/json', charset });
  });

  it('that is missing gives no type', () => {
    expect(contentTypeOf({ headers: {} } as IncomingMessage)).toEqual({ type: '', charset: 'utf-8' });
  });
});

describe("a provider's response never blocks the process", () => {
  async function* inChunks(text: string, size: number): AsyncGenerator<Uint8Array> {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }

  async function eventsOf(text: string, size: number) {
    const events = [];
    for await (const event of serverSentEvents(inChunks(text, size))) events.push(event);
    return events;
  }

  it('an event stream with a long line in small pieces is parsed at once', async () => {
    const line = `data: ${'x'.repeat(600_000)}\n\n`;
    expect(await measureMs(() => eventsOf(line, 16))).toBeLessThan(5 * AT_ONCE_MS);
  });

  it('an event stream whose lines never complete an event is rejected', async () => {
    await expect(eventsOf('data: 0123456789\n'.repeat(200_000), 65_536)).rejects.toThrow(/is too long/);
    await expect(eventsOf('x'.repeat(1_100_000), 65_536)).rejects.toThrow(/is too long/);
  });

  it.each([1, 2, 3, 7, 1_000])('an event stream gives the same events in pieces of %d bytes', async (size) => {
    const text =
      ': a comment\r\nevent: one\rdata: a\r\ndata:b\n\nid: 7\ndata: später\r\n\r\nevent: none\n\ndata\n\ndata: last\ndata: cut o';
    expect(await eventsOf(text, size)).toEqual([
      { event: 'one', data: 'a\nb' },
      { event: 'message', data: 'später', id: '7' },
      { event: 'message', data: '', id: '7' },
      { event: 'message', data: 'last', id: '7' },
    ]);
  });

  it('a run of full stops from a model is split at once', async () => {
    const text = `${'.'.repeat(60_000)}x`;
    expect(await measureMs(() => createSentenceSplitter().push(text))).toBeLessThan(AT_ONCE_MS);
    expect(createSentenceSplitter().push('Wait... "Really?!" he said. ')).toEqual([
      'Wait...',
      '"Really?!"',
      'he said.',
    ]);
  });

  it('a run of apostrophes in a choice is prepared for speech at once', async () => {
    const choice = `a${"'".repeat(60_000)}b`;
    expect(await measureMs(() => toSpokenWords(choice))).toBeLessThan(AT_ONCE_MS);
    expect(toSpokenWords("''rock 'n' roll'")).toBe('rock n roll');
  });
});
