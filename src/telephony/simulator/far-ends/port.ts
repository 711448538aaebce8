import type { VoiceActivityDetector } from '../../../voice/audio/voice-activity.js';
import type { Voices } from '../voices.js';

/** Whoever is at the other end of the line. Called once for each 20 ms, from the answer to the end. */
export interface FarEnd {
  /** What the line plays to the far end; undefined when it is silent. */
  hear(frame: Uint8Array | undefined): void;
  /** What was about to be played was dropped. */
  cleared(): void;
  /** The next 160 bytes of mu-law that the far end says; undefined when it is silent. */
  speak(): Uint8Array | undefined;
  /** The call is over. */
  close(): void;
}

/** What a person did of its script, in order. */
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
  /** A key is pressed: one of 0-9, A-D, * and #. */
  press(digit: string): void;
  note(step: Omit<ScriptStep, 'at'>): void;
  /** An answering machine has beeped: from now on it records. */
  beeped(): void;
  /** Scripted waits are multiplied by it. */
  timeScale: number;
}
