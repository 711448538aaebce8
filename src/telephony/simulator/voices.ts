import { createSynthesizer } from '../../voice/audio/flite.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { RemotePartyScript, PersonLine } from './remote-party-script.js';

/** The remote party's TTS voice. It differs from the agent's, so that recordings are easy to follow. */
const VOICE = 'rms';

export interface Voices {
  /** Starts to synthesize all sentences of the scripts, so that they are ready in time. */
  synthesizeAhead(scripts: RemotePartyScript[]): void;
  /** Returns the audio of one sentence (8 kHz mu-law), or undefined if synthesis failed. The audio is cached. */
  synthesize(text: string): Promise<Uint8Array | undefined>;
  close(): Promise<void>;
}

export function createVoices(deps: { logger: Logger }): Voices {
  const synthesizer = createSynthesizer();
  const lines = new Map<string, Promise<Uint8Array | undefined>>();
  let closed = false;

  function synthesize(text: string): Promise<Uint8Array | undefined> {
    const known = lines.get(text);
    if (known !== undefined) return known;
    const spoken = synthesizer.speak(text, VOICE).catch((error: unknown) => {
      lines.delete(text);
      if (!closed) deps.logger.warn({ err: error }, 'simulated speech synthesis failed');
      return undefined;
    });
    lines.set(text, spoken);
    return spoken;
  }

  return {
    synthesize,
    synthesizeAhead(scripts) {
      for (const text of scripts.flatMap(listTexts)) void synthesize(text);
    },
    async close() {
      closed = true;
      await synthesizer.close();
    },
  };
}

/** A person says this when the agent should speak but stays silent. */
export const REPROMPT = 'Hello?';

function listTexts(script: RemotePartyScript): string[] {
  switch (script.kind) {
    case 'person':
      return [...script.lines.flatMap(listSpokenTexts), ...(script.goodbye === null ? [] : [script.goodbye]), REPROMPT];
    case 'talker':
      return [script.text];
    case 'voicemail':
      return [script.greeting];
    default:
      return [];
  }
}

function listSpokenTexts(line: PersonLine): string[] {
  if (typeof line === 'string') return [line];
  return 'say' in line ? [line.say] : [];
}
