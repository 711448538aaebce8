import { UNDERSTOOD, type ConformanceCase } from './conformance-cases';
import { frame, OPCODE } from './raw-socket';

const NOT_UTF8 = { code: 1007, reason: '' };
const BEFORE = Buffer.from('{"event":"stop","pad":"');
const AFTER = Buffer.from('"}');

/**
 * Encodes a number as UTF-8 with this many bytes, even if UTF-8 would use another number of bytes or the number is not
 * a code point.
 */
function inBytes(point: number, bytes: 2 | 3 | 4 | 5 | 6): Buffer {
  const lead = (0xff << (8 - bytes)) & 0xff;
  return Buffer.from(
    Array.from({ length: bytes }, (_, i) => {
      const bits = Math.floor(point / 64 ** (bytes - 1 - i));
      return i === 0 ? lead | bits : 0x80 | (bits % 64);
    }),
  );
}

const hex = (bytes: Buffer) => bytes.toString('hex');
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

/** Makes cases of the same message: sent as a whole, and in fragments whose cut is within the tested bytes. */
function casesOf(name: string, bytes: Buffer, outcome: { code: number; reason: string }): ConformanceCase[] {
  const message = Buffer.concat([BEFORE, bytes, AFTER]);
  const middle = BEFORE.length + Math.ceil(bytes.length / 2);
  const parts = [
    frame(OPCODE.text, message.subarray(0, BEFORE.length), { fin: false }),
    frame(OPCODE.continuation, message.subarray(BEFORE.length, middle), { fin: false }),
    frame(OPCODE.continuation, '', { fin: false }),
    frame(OPCODE.continuation, message.subarray(middle)),
  ];
  return [
    { name, send: [frame(OPCODE.text, message)], ...outcome },
    { name: `${name} in fragments`, send: parts, ...outcome },
  ];
}

const valid = (name: string, bytes: Buffer) => casesOf(name, bytes, UNDERSTOOD);
const invalid = (bytes: Buffer) => casesOf(hex(bytes), bytes, NOT_UTF8);

const NON_CHARACTERS = [
  0xfdd0,
  0xfdef,
  ...range(0, 16).flatMap((plane) => [plane * 0x1_0000 + 0xfffe, plane * 0x1_0000 + 0xffff]),
];
const EDGES = [0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xfffd, 0x1_0000];

const good: ConformanceCase[] = [
  ...valid('Greek', Buffer.from('κόσμε')),
  ...valid('four bytes a character', Buffer.from('𐌼𐌰𐌲 😀')),
  ...[...EDGES, ...NON_CHARACTERS].flatMap((point) =>
    valid(`U+${point.toString(16)}`, Buffer.from(String.fromCodePoint(point))),
  ),
  // JSON must escape control characters. The server checks the message for valid UTF-8 before it parses the JSON.
  ...casesOf('U+0000', Buffer.from([0]), { code: 1007, reason: 'the message must be JSON' }),
  {
    name: 'Greek, one byte per fragment',
    send: eachByte(Buffer.concat([BEFORE, Buffer.from('κόσμε'), AFTER])),
    ...UNDERSTOOD,
  },
];

const surrogates = [0xd800, 0xdb7f, 0xdb80, 0xdbff, 0xdc00, 0xdf80, 0xdfff];
const incomplete = [
  inBytes(0x80, 2),
  inBytes(0x800, 3),
  inBytes(0x1_0000, 4),
  inBytes(0x20_0000, 5),
  inBytes(0x400_0000, 6),
  inBytes(0x7ff, 2),
  inBytes(0xffff, 3),
  inBytes(0x10_ffff, 4),
  inBytes(0x3ff_ffff, 5),
  inBytes(0x7fff_ffff, 6),
].map((bytes) => bytes.subarray(0, -1));

const bad: ConformanceCase[] = [
  // Code points above the highest one, and encodings of five and six bytes, which UTF-8 no longer has.
  inBytes(0x11_0000, 4),
  inBytes(0x1f_ffff, 4),
  inBytes(0x20_0000, 5),
  inBytes(0x3ff_ffff, 5),
  inBytes(0x400_0000, 6),
  inBytes(0x7fff_ffff, 6),
  // Continuation bytes that follow no start byte.
  ...[0x80, 0xbf].map((byte) => Buffer.from([byte])),
  ...range(2, 7).map((count) => Buffer.alloc(count, 0x80)),
  Buffer.from(range(0x80, 0xbf)),
  // Start bytes that no continuation byte follows.
  ...range(0xc0, 0xfd).map((byte) => Buffer.from([byte, 0x20])),
  ...incomplete,
  Buffer.concat(incomplete),
  // Bytes that never occur in UTF-8.
  ...['fe', 'ff', 'fefeffff'].map((bytes) => Buffer.from(bytes, 'hex')),
  // Overlong encodings, which use more bytes than needed: for a slash, for the highest code point that a shorter
  // encoding can have, and for zero.
  ...([2, 3, 4, 5, 6] as const).flatMap((bytes) => [
    inBytes(0x2f, bytes),
    inBytes([0x7f, 0x7ff, 0xffff, 0x1f_ffff, 0x3ff_ffff][bytes - 2] ?? 0, bytes),
    inBytes(0, bytes),
  ]),
  // Surrogates, which UTF-8 must not contain, alone and in pairs.
  ...surrogates.map((point) => inBytes(point, 3)),
  ...surrogates
    .slice(0, 4)
    .flatMap((high) => [0xdc00, 0xdfff].map((low) => Buffer.concat([inBytes(high, 3), inBytes(low, 3)]))),
]
  .flatMap(invalid)
  .concat(
    // The first fragment is already wrong. The server reports this when the message is complete.
    {
      name: 'wrong early, valid afterwards',
      send: [
        frame(OPCODE.text, Buffer.concat([BEFORE, Buffer.from([0xed, 0xa0, 0x80])]), { fin: false }),
        frame(OPCODE.ping, 'x'),
        frame(OPCODE.continuation, AFTER),
      ],
      ...NOT_UTF8,
    },
    {
      name: 'one wrong byte per fragment',
      send: eachByte(Buffer.from([0xf4, 0x90, 0x80, 0x80])),
      ...NOT_UTF8,
    },
    { name: 'neither JSON nor UTF-8', send: [frame(OPCODE.text, Buffer.from([0xce, 0xba, 0xff]))], ...NOT_UTF8 },
  );

function eachByte(message: Buffer): Buffer[] {
  return Array.from(message, (byte, i) =>
    frame(i === 0 ? OPCODE.text : OPCODE.continuation, Buffer.from([byte]), { fin: i === message.length - 1 }),
  );
}

/** The cases of the sixth group of the Autobahn test suite. */
export const UTF8_CONFORMANCE: Record<string, ConformanceCase[]> = {
  '6 texts that are UTF-8': good,
  '6 texts that are not': bad,
};
