import type { Mode } from '../../../src/kernel/ids.js';
import type { Config } from '../../../src/platform/config/config.js';
import type { CallInstruction, Markup } from '../../../src/telephony/callbacks.js';
import type { MediaEvent } from '../../../src/telephony/media.js';
import type { CarrierFactory, StreamUpgrade } from '../../../src/telephony/port.js';

/** An event of a call that the test makes the carrier report, in a form that does not depend on the carrier. */
export type CallReport =
  | { kind: 'answered' | 'ended'; carrierSid: string }
  | { kind: 'detected'; carrierSid: string; who: 'human' | 'voicemail' }
  | { kind: 'stream_ended'; carrierSid: string };

export interface Ports {
  api: number;
  media: number;
  carrier: number;
}

/** A call that reaches the carrier for one of its numbers, which forwards it to the service. */
export interface ArrivingCall {
  from: string;
  to: string;
  forwardedFrom: string;
}

/** A signed request of the carrier. */
export interface SignedRequest {
  path: string;
  headers: Record<string, string>;
  body: string;
}

/** Numbers by what happens when they are called. */
interface Numbers {
  /** A person answers, and does not hang up. */
  person: string;
  /** A person answers and hangs up at once. */
  hangsUp: string;
  /** A person answers, and the first media stream breaks off after a moment, but the call does not end. */
  losesStream: string;
  busy: string;
  unanswered: string;
}

/** Faults of a dial request. */
export type DialFault =
  | 'wrong credentials'
  | 'a caller or callee that the account may not use'
  | 'a number that does not exist'
  | 'too many requests'
  | 'too many calls'
  | 'a server error'
  | 'a lost response'
  | 'no response';

/** Parts of the contract that not every carrier has. */
export type Part =
  | 'a paid time limit'
  | 'dials'
  | 'faults of the operator'
  | 'instructions'
  | 'signed requests'
  | 'transfers';

/** A carrier to which the contract applies. */
export interface CarrierEntry {
  name: string;
  /** The mode of its account. */
  mode: Mode;
  /** Parts of the contract that do not apply to this carrier, with the reason. The suite lists each as a test. */
  without: Readonly<Partial<Record<Part, string>>>;
}

/** The carrier's side of the interface. The suite controls it. */
export interface CarrierDouble {
  newCallId(): string;
  newStreamId(): string;
  /** Ids in the formats of other carriers, and path traversals. The adapter must reject all of them. */
  foreignIds: readonly string[];
  numbers: Numbers;
  /** Numbers by the fault of the first requests to dial them. */
  dialFaults: Readonly<Record<DialFault, string>>;
  /** Returns the call's time limit at the carrier, in seconds from the answer. */
  limitOf(carrierSid: string): Promise<number | undefined>;
  /** Returns how the carrier has understood each instruction for a call, in order. */
  instructionsFor(carrierSid: string): Promise<Partial<CallInstruction>[]>;
  /** Makes a call arrive at the carrier. Its caller stays silent and does not hang up. Returns the carrier's call id. */
  receive(call: ArrivingCall): Promise<string>;
  /** Ends a call as the other party does. */
  hangUp(carrierSid: string): Promise<void>;
  /** Builds a signed callback that reports this event. */
  request(callId: string, report: CallReport): SignedRequest;
  /** Builds the signed request by which the carrier announces a call. */
  announce(carrierSid: string, call: ArrivingCall): SignedRequest;
  /** Builds the upgrade request by which the carrier opens the media stream of an instruction. */
  upgradeOf(markup: Markup): StreamUpgrade;
  /** Encodes these events as stream messages, in the order in which they arrive. */
  encode(events: readonly MediaEvent[]): { data: Buffer; isBinary: boolean }[];
  /** Returns how the carrier understands a stream message of the service. */
  interpret(message: string | Uint8Array): { audio: string } | { mark: string } | 'clear';
  /** Returns how the carrier understands an instruction. */
  read(markup: Markup): Partial<CallInstruction>;
}

/** The server of a carrier, with the settings by which the service uses it. */
export interface CarrierServer {
  env: Record<string, string>;
  /** Changes the configuration so that this carrier is the live one. */
  adapt?(config: Config): Config;
  factories?: Readonly<Record<string, CarrierFactory>>;
  /** The side of the carrier for each account of this server. */
  doubles: Readonly<Partial<Record<Mode, CarrierDouble>>>;
  close(): Promise<void>;
}
