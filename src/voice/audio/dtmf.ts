import { encodeMulaw, MULAW_SILENCE } from './mulaw.js';

const SAMPLE_RATE = 8_000;
const TONE_MS = 100;
const GAP_MS = 60;
/** A comma: time for the far end's menu to go on. */
const PAUSE_MS = 500;
/** Each tone about 9 dB below full scale, so that the two together do not clip. */
const AMPLITUDE = 11_000;

const ROWS = [697, 770, 852, 941];
const COLUMNS = [1_209, 1_336, 1_477, 1_633];
const KEYPAD = ['123A', '456B', '789C', '*0#D'];

/** The frequencies of each key, Hz. */
const FREQUENCIES = new Map(
  KEYPAD.flatMap((keys, row) =>
    Array.from(keys, (key, column) => [key, [ROWS[row] ?? 0, COLUMNS[column] ?? 0]] as const),
  ),
);

/** What `dtmfTones` can say: the keys of a telephone, and a comma for half a second of silence. */
export const DTMF_PATTERN = /^[0-9*#A-D,]{1,32}$/;

/**
 * Keys as a telephone would send them in the band: 100 ms of tone and 60 ms of silence for each.
 * @returns 8 kHz mu-law
 * @throws RangeError when a character is none of 0-9, *, #, A-D and comma
 */
export function dtmfTones(digits: string): Uint8Array {
  return new Uint8Array(
    Buffer.concat(Array.from(digits, (digit) => (digit === ',' ? silence(PAUSE_MS) : tone(digit)))),
  );
}

function tone(key: string): Uint8Array {
  const frequencies = FREQUENCIES.get(key);
  if (frequencies === undefined) throw new RangeError('A telephone has the keys 0-9, *, # and A-D.');
  const samples = Int16Array.from({ length: (TONE_MS * SAMPLE_RATE) / 1_000 }, (_, i) =>
    Math.round(
      frequencies.reduce((sum, hertz) => sum + AMPLITUDE * Math.sin((2 * Math.PI * hertz * i) / SAMPLE_RATE), 0),
    ),
  );
  return Buffer.concat([encodeMulaw(samples), silence(GAP_MS)]);
}

function silence(ms: number): Uint8Array {
  return new Uint8Array((ms * SAMPLE_RATE) / 1_000).fill(MULAW_SILENCE);
}
