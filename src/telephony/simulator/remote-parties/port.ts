import type { VoiceActivityDetector } from '../../../voice/audio/voice-activity.js';
import type { GreetingEnd } from '../remote-party-script.js';
import type { Voices } from '../voices.js';

/** A simulated remote party. Its frame methods are called once per 20 ms, from the answer to the end of the call. */
export interface RemoteParty {
  /** Receives the next frame of the agent's audio; undefined for silence. */
  receiveFrame(frame: Uint8Array | undefined): void;
  /** Called when audio that was not played yet was discarded. */
  playbackCleared(): void;
  /** Returns the next 160 bytes of mu-law that the remote party says; undefined for silence. */
  nextFrame(): Uint8Array | undefined;
  /** Called when the call is over. */
  close(): void;
}

/** Something that a simulated person did according to its script. */
export interface ScriptStep {
  at: string;
  /** `interrupted`: said while the agent was speaking. `finished` and `timeout` end the script. */
  did: 'said' | 'interrupted' | 'nudged' | 'keyed' | 'waited' | 'finished' | 'timeout';
  text?: string;
}

export interface RemotePartyDeps {
  voices: Voices;
  newDetector(): VoiceActivityDetector;
  hangUp(): void;
  /** Presses a DTMF key: one of 0-9, A-D, * and #. */
  pressDigit(digit: string): void;
  recordStep(step: Omit<ScriptStep, 'at'>): void;
  /** Called when the greeting of the answering machine is over and it starts recording. */
  greetingEnded(how: GreetingEnd): void;
  /** Factor for the waiting times in scripts. */
  timeScale: number;
}
