import { createSynthesizer } from '../../voice/audio/flite.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { FarEndScript, PersonLine } from './far-end-script.js';

/** The remote party's TTS voice. It differs from the agent's, so that recordings are easy to follow. */
const VOICE = 'rms';

export interface Voices {
  /** Starts to synthesize all lines of the scripts, so that they are ready in time. */
  prepare(scripts: FarEndScript[]): void;
  /** A line as 8 kHz mu-law; undefined when synthesis failed. Each line is synthesized once. */
  line(text: string): Promise<Uint8Array | undefined>;
  close(): Promise<void>;
}

export function createVoices(deps: { logger: Logger }): Voices {
  const synthesizer = createSynthesizer();
  const lines = new Map<string, Promise<Uint8Array | undefined>>();
  let closed = false;

  function line(text: string): Promise<Uint8Array | undefined> {
    const known = lines.get(text);
    if (known !== undefined) return known;
    const spoken = synthesizer.speak(text, VOICE).catch((error: unknown) => {
      lines.delete(text);
      if (!closed) deps.logger.warn({ err: error }, 'a line of the far end could not be spoken');
      return undefined;
    });
    lines.set(text, spoken);
    return spoken;
  }

  return {
    line,
    prepare(scripts) {
      for (const text of scripts.flatMap(textsOf)) void line(text);
    },
    async close() {
      closed = true;
      await synthesizer.close();
    },
  };
}

/** Said by a person after waiting in vain for the agent to speak. */
export const NUDGE = 'Hello?';

function textsOf(script: FarEndScript): string[] {
  switch (script.kind) {
    case 'person':
      return [...script.lines.flatMap(spokenOf), ...(script.goodbye === null ? [] : [script.goodbye]), NUDGE];
    case 'talker':
      return [script.text];
    case 'voicemail':
      return [script.greeting];
    default:
      return [];
  }
}

function spokenOf(line: PersonLine): string[] {
  if (typeof line === 'string') return [line];
  return 'say' in line ? [line.say] : [];
}
