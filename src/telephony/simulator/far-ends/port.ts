import type { VoiceActivityDetector } from '../../../voice/audio/voice-activity.js';
import type { Voices } from '../voices.js';

/** The simulated remote party. Called once per 20 ms, from the answer to the end of the call. */
export interface FarEnd {
  /** Receives the frame that the line plays; undefined for silence. */
  hear(frame: Uint8Array | undefined): void;
  /** Audio that was about to be played was discarded. */
  cleared(): void;
  /** The next 160 bytes of mu-law that the remote party says; undefined for silence. */
  speak(): Uint8Array | undefined;
  /** Called when the call is over. */
  close(): void;
}

/** A step of its script that a simulated person has taken. */
export interface ScriptStep {
  at: string;
  /** `interrupted`: said while the agent was speaking. `finished` and `timeout` end the script. */
  did: 'said' | 'interrupted' | 'nudged' | 'keyed' | 'waited' | 'finished' | 'timeout';
  text?: string;
}

export interface FarEndDeps {
  voices: Voices;
  newDetector(): VoiceActivityDetector;
  hangUp(): void;
  /** Presses a DTMF key: one of 0-9, A-D, * and #. */
  press(digit: string): void;
  note(step: Omit<ScriptStep, 'at'>): void;
  /** The answering machine has beeped and starts recording. */
  beeped(): void;
  /** Multiplies scripted waits. */
  timeScale: number;
}
