import { decodeMulaw } from '../../../voice/audio/mulaw.js';

const FRAME_MS = 20;
/** Sound as loud as a voice in the distance: -45 dB of full scale, as an effective value. */
const LOUD = 184;
/** A pause this long ends what somebody says, to the agent too. */
const PAUSE_MS = 600;
/** People seldom speak this long without a pause. */
const LONGEST_MS = 8_000;

/** Notices that the microphone hears sound on and on, so that the agent waits for the end of it. */
export function createNoiseWatch() {
  let loudMs = 0;
  let quietMs = 0;

  function reset(): void {
    loudMs = 0;
    quietMs = 0;
  }

  return {
    /**
     * @param frame 20 ms of the microphone: mu-law at 8 kHz
     * @returns whether it has heard sound without a pause for 8 s
     */
    isNoisyAfter(frame: Uint8Array): boolean {
      quietMs = isLoud(frame) ? 0 : quietMs + FRAME_MS;
      if (quietMs >= PAUSE_MS || (loudMs === 0 && quietMs > 0)) reset();
      else loudMs += FRAME_MS;
      return loudMs >= LONGEST_MS;
    },
    /** The agent speaks, so it does not wait. */
    reset,
  };
}

function isLoud(frame: Uint8Array): boolean {
  const samples = decodeMulaw(frame);
  const sum = samples.reduce((total, sample) => total + sample * sample, 0);
  return sum > LOUD * LOUD * samples.length;
}
