import type { AgentSnapshot } from '../agents/agent-snapshot.js';
import type { Direction } from '../kernel/call-state.js';
import type { MediaSignal } from '../kernel/call-signals.js';
import type { Mode } from '../kernel/ids.js';
import type { Micros } from '../kernel/money.js';
import type { AccountOfCall } from '../telephony/accounts/account-of-call.js';

/** The data of a call that the media server needs. The data does not change during the call. */
export interface StreamedCall {
  _id: string;
  accountId: string;
  mode: Mode;
  /** The carrier's id of the account with the call; absent in calls of earlier releases, and of browsers. */
  carrierAccountId?: string;
  direction: Direction;
  fromPhoneNumber: string;
  toPhoneNumber: string;
  agent: AgentSnapshot;
  /** JSON object as a string; `{}` if none was given. */
  inputParameters: string;
  maxDurationSeconds: number;
  /** Price per second in micro-USD; absent in old calls, which were stored without a price and use the default. */
  microsPerSecond?: Micros;
}

/** `over`: the call has ended. A number: the balance or duration limit will end it after so many seconds of talk. */
export type CallEnding = 'over' | number;

/** Read access to calls for the media server; the calls domain implements it. */
export interface CallReader {
  find(callId: string): Promise<StreamedCall | null>;
  /** Returns the carrier account of a call. This is cheap, because unsigned requests can cause it. */
  accountOf(callId: string): Promise<AccountOfCall | null>;
  /** Whether the call has its final status; false if the call is unknown. */
  isFinal(callId: string): Promise<boolean>;
  /** Whether the call's personal data has been erased. */
  isErased(callId: string): Promise<boolean>;
  /** The known ends of these calls; a call without a known end is missing from the map. */
  endings(callIds: readonly string[]): Promise<Map<string, CallEnding>>;
}

/** Sends signals to the workflow of a call. */
export interface MediaSignals {
  /** Sends a signal. Returns false if the call has ended or is unknown. `requestId` lets Temporal drop duplicates. */
  signalMedia(callId: string, signal: MediaSignal, requestId: string): Promise<boolean>;
}
