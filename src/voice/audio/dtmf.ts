import { encodeMulaw, MULAW_SILENCE } from './mulaw.js';

const SAMPLE_RATE = 8_000;
const TONE_MS = 100;
const GAP_MS = 60;
/** Pause for each comma, so that the remote party's phone menu can continue. */
const PAUSE_MS = 500;
/** Each of the two tones is about 9 dB below full scale, so that their sum does not clip. */
const AMPLITUDE = 11_000;

const ROWS = [697, 770, 852, 941];
const COLUMNS = [1_209, 1_336, 1_477, 1_633];
const KEYPAD = ['123A', '456B', '789C', '*0#D'];

/** The two frequencies of each DTMF digit, in Hz. */
const FREQUENCIES = new Map(
  KEYPAD.flatMap((keys, row) =>
    Array.from(keys, (key, column) => [key, [ROWS[row] ?? 0, COLUMNS[column] ?? 0]] as const),
  ),
);

/** Input that `createDtmfTones` renders: DTMF digits, and commas for half a second of silence each. */
export const DTMF_PATTERN = /^[0-9*#A-D,]{1,32}$/;

export type DtmfTones = ReturnType<typeof createDtmfTones>;

/** Renders DTMF digits as in-band audio. The tone of each key is computed once, when it is first needed. */
export function createDtmfTones() {
  const sounds = new Map<string, Uint8Array>();

  function soundOf(digit: string): Uint8Array {
    const sound = sounds.get(digit) ?? (digit === ',' ? silence(PAUSE_MS) : tone(digit));
    sounds.set(digit, sound);
    return sound;
  }

  return {
    /**
     * Renders 100 ms of tone and 60 ms of silence per digit, and 500 ms of silence per comma.
     * @returns 8 kHz mu-law
     * @throws RangeError on a character other than 0-9, *, #, A-D and comma
     */
    render: (digits: string): Uint8Array => new Uint8Array(Buffer.concat(Array.from(digits, soundOf))),
  };
}

function tone(key: string): Uint8Array {
  const frequencies = FREQUENCIES.get(key);
  if (frequencies === undefined) throw new RangeError('DTMF digits must be 0-9, *, # or A-D.');
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
