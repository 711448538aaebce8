import type { AgentSnapshot } from '../agents/agent-snapshot.js';
import type { Direction } from '../kernel/call-state.js';
import type { MediaSignal } from '../kernel/call-signals.js';
import type { Mode } from '../kernel/ids.js';
import type { Micros } from '../kernel/money.js';

/** What the media side needs of a call. It was asked for once and never changes. */
export interface StreamedCall {
  _id: string;
  accountId: string;
  mode: Mode;
  direction: Direction;
  agent: AgentSnapshot;
  /** JSON object in a string, `{}` when none was given. */
  inputParameters: string;
  maxDurationSeconds: number;
  /** Absent in calls from before prices were frozen: the default. */
  microsPerSecond?: Micros;
}

/** `over`: the call has ended; else the second of talk at which money or the duration limit will end it. */
export type CallEnding = 'over' | number;

/** How the media side reads calls; the calls domain provides it. */
export interface CallReader {
  find(callId: string): Promise<StreamedCall | null>;
  /** False when the call is unknown. */
  isFinal(callId: string): Promise<boolean>;
  /** Whether everything personal was taken out of the call. */
  isErased(callId: string): Promise<boolean>;
  /** What is known of the ends of these calls; one whose end nothing says is not in it. */
  endings(callIds: readonly string[]): Promise<Map<string, CallEnding>>;
}

/** How the media side reaches a call's workflow. */
export interface MediaSignals {
  /** Returns false when the call is over or unknown. `requestId` lets Temporal drop a repeat. */
  signalMedia(callId: string, signal: MediaSignal, requestId: string): Promise<boolean>;
}
