import { closing, frame, OPCODE } from './raw-socket';

const { continuation, text, binary, close, ping, pong } = OPCODE;

/** The expected result of a case: the close frame, and the pongs that come before the close frame. */
export interface ConformanceCase {
  name: string;
  /** The frames to send, in order. */
  send: Buffer[];
  /** If set, the frames are sent in packets of this many bytes. */
  piece?: number;
  code: number;
  reason?: string;
  pongs?: string[];
}

/**
 * The close with which the server responds to a `stop` message that comes before `start`. It proves that the message
 * arrived complete.
 */
export const UNDERSTOOD = { code: 1008, reason: 'stop before start' };
/** The close for a binary message, because the media protocol has no binary messages. */
const NOT_TEXT = { code: 1003, reason: 'binary frames are not supported' };
const BROKEN = { code: 1002, reason: '' };
const NOT_UTF8 = { code: 1007, reason: '' };
const TOO_BIG = { code: 1009, reason: '' };
const TOO_MANY = { code: 1008, reason: '' };

/** The size of the largest message that the server accepts. */
const MAX_BYTES = 65_536;

/** A valid message of this many bytes. */
export function stopOf(bytes: number): string {
  const empty = '{"event":"stop","pad":""}';
  return `{"event":"stop","pad":"${'*'.repeat(bytes - empty.length)}"}`;
}

const STOP = '{"event":"stop"}';
/** A message that the server accepts and that has no effect. */
const NOISE = '{"event":"noise"}';

/** Splits a message into fragments of this many bytes. */
function fragments(opcode: number, payload: Buffer | string, bytes: number): Buffer[] {
  const data = Buffer.from(payload);
  const count = Math.max(1, Math.ceil(data.length / bytes));
  return Array.from({ length: count }, (_, i) =>
    frame(i === 0 ? opcode : continuation, data.subarray(i * bytes, (i + 1) * bytes), { fin: i === count - 1 }),
  );
}

const lengths: ConformanceCase[] = [
  { name: 'an empty text', send: [frame(text)], code: 1007, reason: 'the message must be JSON' },
  ...[125, 126, 127, 128, 65_535, MAX_BYTES].map((bytes) => ({
    name: `a text of ${bytes} bytes`,
    send: [frame(text, stopOf(bytes))],
    ...UNDERSTOOD,
  })),
  {
    name: `a text of ${MAX_BYTES} bytes in small packets`,
    send: [frame(text, stopOf(MAX_BYTES))],
    piece: 997,
    ...UNDERSTOOD,
  },
  ...[0, 125, 126, 127, 128, 65_535, MAX_BYTES].map((bytes) => ({
    name: `a binary message of ${bytes} bytes`,
    send: [frame(binary, Buffer.alloc(bytes, 0xfe))],
    ...NOT_TEXT,
  })),
  {
    name: `a binary message of ${MAX_BYTES} bytes in small packets`,
    send: [frame(binary, Buffer.alloc(MAX_BYTES, 0xfe))],
    piece: 997,
    ...NOT_TEXT,
  },
];

const some = (payload: string) => [frame(ping, payload), frame(text, STOP)];
const pingsAndPongs: ConformanceCase[] = [
  { name: 'a ping without payload', send: some(''), pongs: [''], ...UNDERSTOOD },
  { name: 'a ping with text', send: some('Hello, world!'), pongs: ['Hello, world!'], ...UNDERSTOOD },
  {
    name: 'a ping with bytes that are no text',
    send: [frame(ping, Buffer.from([0x00, 0xff, 0xfe, 0xfd, 0x80])), frame(text, STOP)],
    pongs: ['\u0000\u00ff\u00fe\u00fd\u0080'],
    ...UNDERSTOOD,
  },
  { name: 'a ping of 125 bytes', send: some('p'.repeat(125)), pongs: ['p'.repeat(125)], ...UNDERSTOOD },
  { name: 'a ping of 126 bytes', send: some('p'.repeat(126)), pongs: [], ...BROKEN },
  {
    name: 'a ping of 125 bytes, byte by byte',
    send: some('p'.repeat(125)),
    piece: 1,
    pongs: ['p'.repeat(125)],
    ...UNDERSTOOD,
  },
  { name: 'an unsolicited pong', send: [frame(pong), frame(text, STOP)], pongs: [], ...UNDERSTOOD },
  {
    name: 'an unsolicited pong with payload',
    send: [frame(pong, 'why'), frame(text, STOP)],
    pongs: [],
    ...UNDERSTOOD,
  },
  { name: 'a pong of 126 bytes', send: [frame(pong, 'p'.repeat(126)), frame(text, STOP)], ...BROKEN },
  {
    name: 'an unsolicited pong, and a ping',
    send: [frame(pong, 'why'), frame(ping, 'now'), frame(text, STOP)],
    pongs: ['now'],
    ...UNDERSTOOD,
  },
  ...[undefined, 1].map((piece) => ({
    name: `ten pings${piece === undefined ? '' : ', byte by byte'}`,
    send: [...Array.from({ length: 10 }, (_, i) => frame(ping, `ping ${i}`)), frame(text, STOP)],
    ...(piece === undefined ? {} : { piece }),
    pongs: Array.from({ length: 10 }, (_, i) => `ping ${i}`),
    ...UNDERSTOOD,
  })),
];

const reservedBits: ConformanceCase[] = [
  ...[1, 2, 3, 4, 5, 6, 7].flatMap((reserved) => [
    { name: `reserved bits ${reserved} on a text`, send: [frame(text, STOP, { reserved })], ...BROKEN },
    { name: `reserved bits ${reserved} on a ping`, send: [frame(ping, 'x', { reserved })], pongs: [], ...BROKEN },
  ]),
  { name: 'reserved bits on a binary message', send: [frame(binary, 'x', { reserved: 5 })], ...BROKEN },
  { name: 'reserved bits on a close', send: [frame(close, closing(1000), { reserved: 7 })], ...BROKEN },
  ...[undefined, 1].map((piece) => ({
    name: `reserved bits after a valid text, and an unanswered ping${piece === undefined ? '' : ', byte by byte'}`,
    send: [frame(text, NOISE), frame(text, STOP, { reserved: 2 }), frame(ping, 'x')],
    ...(piece === undefined ? {} : { piece }),
    pongs: [],
    ...BROKEN,
  })),
];

const opcodes: ConformanceCase[] = [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].flatMap((opcode) => [
  { name: `opcode ${opcode}, empty`, send: [frame(opcode)], ...BROKEN },
  { name: `opcode ${opcode} with payload`, send: [frame(opcode, STOP)], ...BROKEN },
  {
    name: `opcode ${opcode} after a good text, byte by byte`,
    send: [frame(text, NOISE), frame(opcode, 'x'), frame(ping, 'x')],
    piece: 1,
    pongs: [],
    ...BROKEN,
  },
]);

const open = (payload: string) => frame(text, payload, { fin: false });
const more = (payload: string) => frame(continuation, payload, { fin: false });
const last = (payload: string) => frame(continuation, payload);
const [head, tail] = ['{"event":', '"stop"}'];
const fragmentation: ConformanceCase[] = [
  { name: 'a ping in two fragments', send: [frame(ping, 'a', { fin: false }), last('b')], pongs: [], ...BROKEN },
  { name: 'a pong in two fragments', send: [frame(pong, 'a', { fin: false }), last('b')], ...BROKEN },
  { name: 'a close in two fragments', send: [frame(close, closing(1000), { fin: false }), last('b')], ...BROKEN },
  ...[undefined, 1].flatMap((piece) => {
    const how = piece === undefined ? '' : ', byte by byte';
    const pieces = piece === undefined ? {} : { piece };
    return [
      { name: `a text in two fragments${how}`, send: [open(head), last(tail)], ...pieces, ...UNDERSTOOD },
      {
        name: `a text in empty and full fragments${how}`,
        send: [open(''), more(head), more(''), last(tail)],
        ...pieces,
        ...UNDERSTOOD,
      },
      {
        name: `a ping between two fragments${how}`,
        send: [open(head), frame(ping, 'x'), last(tail)],
        ...pieces,
        pongs: ['x'],
        ...UNDERSTOOD,
      },
      { name: `a continuation of nothing${how}`, send: [last(STOP)], ...pieces, ...BROKEN },
      { name: `an unfinished continuation of nothing${how}`, send: [more(STOP), last('')], ...pieces, ...BROKEN },
      { name: `a continuation after a whole text${how}`, send: [frame(text, NOISE), last(STOP)], ...pieces, ...BROKEN },
      { name: `a text inside a text${how}`, send: [open(head), frame(text, STOP)], ...pieces, ...BROKEN },
      { name: `a binary message inside a text${how}`, send: [open(head), frame(binary, 'x')], ...pieces, ...BROKEN },
    ];
  }),
  {
    name: 'pings between five fragments, twice',
    send: [NOISE, STOP].flatMap((message, round) =>
      fragments(text, message, 4).flatMap((part, i) => [part, frame(ping, `${round}.${i}`)]),
    ),
    // The last ping comes after the message that makes the server close the stream, so it gets no pong.
    pongs: ['0.0', '0.1', '0.2', '0.3', '0.4', '1.0', '1.1', '1.2'],
    ...UNDERSTOOD,
  },
  { name: 'a binary message in two fragments', send: fragments(binary, Buffer.alloc(100), 50), ...NOT_TEXT },
];

const limits: ConformanceCase[] = [
  { name: `a text of ${MAX_BYTES + 1} bytes`, send: [frame(text, stopOf(MAX_BYTES + 1))], ...TOO_BIG },
  {
    name: `a binary message of ${MAX_BYTES + 1} bytes`,
    send: [frame(binary, Buffer.alloc(MAX_BYTES + 1))],
    ...TOO_BIG,
  },
  {
    name: 'a text of 100 MB, as soon as it is announced',
    send: [frame(text, '{', { announcedLength: 104_857_600n })],
    ...TOO_BIG,
  },
  { name: 'a text longer than can be counted', send: [frame(text, '{', { announcedLength: 2n ** 63n })], ...TOO_BIG },
  {
    name: 'a text that grows beyond the limit by fragments',
    send: [open(stopOf(40_000)), last(stopOf(40_000))],
    ...TOO_BIG,
  },
  { name: 'a text in 64 fragments', send: fragments(text, stopOf(640), 10), ...UNDERSTOOD },
  { name: 'a text in 65 fragments', send: fragments(text, stopOf(650), 10), ...TOO_MANY },
  {
    name: 'empty fragments without end',
    send: [open(''), ...Array.from({ length: 500 }, () => more(''))],
    ...TOO_MANY,
  },
  { name: 'a text that is not masked', send: [frame(text, STOP, { isMasked: false })], ...BROKEN },
  { name: 'a ping that is not masked', send: [frame(ping, 'x', { isMasked: false })], pongs: [], ...BROKEN },
];

const misc: ConformanceCase[] = [
  {
    name: `a text of ${MAX_BYTES} bytes in fragments of 1,300`,
    send: fragments(text, stopOf(MAX_BYTES), 1_300),
    ...UNDERSTOOD,
  },
  {
    name: `a text of ${MAX_BYTES} bytes in fragments of 1,300, in small packets`,
    send: fragments(text, stopOf(MAX_BYTES), 1_300),
    piece: 499,
    ...UNDERSTOOD,
  },
];

const VALID_CODES = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999];
const INVALID_CODES = [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535];
const bye = frame(close, closing(1000));
const closes: ConformanceCase[] = [
  { name: 'a close without code', send: [frame(close)], code: 1005 },
  { name: 'a close of one byte', send: [frame(close, 'x')], ...BROKEN },
  { name: 'a close with a reason', send: [frame(close, closing(1000, 'good bye'))], code: 1000 },
  { name: 'a close with the longest reason', send: [frame(close, closing(1000, 'x'.repeat(123)))], code: 1000 },
  { name: 'a close with a reason too long', send: [frame(close, closing(1000, 'x'.repeat(124)))], ...BROKEN },
  {
    name: 'a close whose reason is no UTF-8',
    send: [frame(close, closing(1000, Buffer.from([0xce, 0xba, 0xed, 0xa0, 0x80])))],
    ...NOT_UTF8,
  },
  { name: 'two closes', send: [bye, bye], code: 1000 },
  { name: 'a ping after a close', send: [bye, frame(ping, 'x')], pongs: [], code: 1000 },
  { name: 'a text after a close', send: [bye, frame(text, STOP)], code: 1000 },
  { name: 'a close in the middle of a text', send: [open(head), bye, last(tail)], code: 1000 },
  { name: 'a close after a long text, byte by byte', send: [frame(text, NOISE), bye], piece: 1, code: 1000 },
  ...VALID_CODES.map((code) => ({ name: `a close with ${code}`, send: [frame(close, closing(code))], code })),
  ...INVALID_CODES.map((code) => ({ name: `a close with ${code}`, send: [frame(close, closing(code))], ...BROKEN })),
];

/** The cases by groups: those of the Autobahn test suite, and one for the limits of this server. */
export const CONFORMANCE: Record<string, ConformanceCase[]> = {
  '1 lengths': lengths,
  '2 pings and pongs': pingsAndPongs,
  '3 reserved bits': reservedBits,
  '4 opcodes': opcodes,
  '5 fragmentation': fragmentation,
  '7 closing': closes,
  '9 limits': limits,
  '10 miscellaneous': misc,
};
