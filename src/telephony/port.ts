import type { BoundRoute } from '../platform/http/routing/bound-route.js';
import type { IncomingHttpHeaders } from 'node:http';
import type { AnsweredBy, CarrierFinalStatus, Direction, EndReason } from '../kernel/call-state.js';
import type { Mode } from '../kernel/ids.js';
import type { MachineDetection } from '../kernel/voicemail.js';
import type { Authenticator } from '../identity/access/authentication.js';
import type { SignedRequests } from '../platform/http/signed-requests.js';
import type {
  CallEvents,
  CallInstruction,
  CallInstructions,
  CarrierIdentity,
  CarrierRequest,
  Markup,
} from './callbacks.js';
import type { Logger } from '../platform/telemetry/logger.js';
import type { MediaCodec } from './media.js';

/** A call as the carrier's own record tells it. */
export interface CarrierCall {
  carrierSid: string;
  direction?: Direction;
  /** The called number, as the carrier writes it. */
  to?: string;
  /** The number that forwarded an inbound call. */
  forwardedFrom?: string;
  status: 'queued' | 'ringing' | 'in-progress' | CarrierFinalStatus;
  /** Times in ms since the epoch; absent while the carrier has none. */
  createdAt?: number;
  startedAt?: number;
  endedAt?: number;
  durationSeconds?: number;
  answeredBy?: AnsweredBy;
}

/**
 * What came of asking for a call. `ambiguous` means that a call may exist: it must never be asked for again, only looked
 * for. `throttled` and `unreachable` prove that none exists, so asking again is safe.
 */
export type DialOutcome =
  | { outcome: 'accepted'; carrierSid: string }
  | { outcome: 'refused'; endReason: EndReason }
  | { outcome: 'throttled' }
  | { outcome: 'unreachable' }
  | { outcome: 'ambiguous' };

export interface DialRequest {
  callId: string;
  to: string;
  from: string;
  ringTimeoutSeconds: number;
  /** The carrier ends the call after this many seconds even if all our processes are dead. */
  timeLimitSeconds: number;
  /** The carrier listens who answers, and tells while the call goes on. */
  machineDetection?: MachineDetection;
}

/** What not every carrier can do. */
export interface CarrierCapabilities {
  /** Whether the time limit of a running call can be changed. Where it cannot, only our own timers end the call on time. */
  canChangeTimeLimit: boolean;
}

/**
 * One carrier account, as the workflow's steps see it. Orders and questions throw when the carrier is away, and
 * a `CarrierRequestRefused`, with nothing sent, when the identifier is not one of this carrier's.
 */
export interface CarrierApi extends CarrierIdentity {
  readonly capabilities: CarrierCapabilities;
  /** Asks for a call once. Never throws: the outcome says what is known. Takes at most 10 s. */
  dial(request: DialRequest): Promise<DialOutcome>;
  /** Ends a call, ringing or talking. A call that has ended already is a success. */
  hangUp(carrierSid: string): Promise<void>;
  /** Moves the carrier's own end of the call, where it can. A call that has ended already is a success. */
  limitTo(carrierSid: string, seconds: number): Promise<void>;
  /** The carrier's record; undefined when it knows no such call. */
  fetch(carrierSid: string): Promise<CarrierCall | undefined>;
  /** Calls placed between two numbers since a moment, queued ones included, newest first. */
  findPlaced(query: { to: string; from: string; since: number }): Promise<CarrierCall[]>;
}

/** An upgrade request for a media stream. */
export interface StreamUpgrade {
  /** The address of the call's stream under the configured base, without what follows the call's id. */
  url: string;
  /** What follows the call's id in the request, as it came: another segment or a query; mostly empty. */
  rest: string;
  headers: IncomingHttpHeaders;
}

/** What the callback routes of a carrier work with. */
export interface CallbackDeps {
  publicBaseUrl: string;
  /** The accounts whose carriers make these requests. */
  carriers: Partial<Carriers>;
  signedRequests: SignedRequests;
  authenticator: Pick<Authenticator, 'byKeyOrCarrier'>;
  events: CallEvents;
  instructions: CallInstructions;
  logger: Logger;
}

/** The requests of a carrier: the routes they come to, and how they are verified and read before they are told in our words. */
export interface CarrierContract {
  createRoutes(deps: CallbackDeps): BoundRoute[];
}

/** One carrier account, complete: its REST interface, its callbacks, what it is told to do, and its media streams. */
export interface Carrier extends CarrierApi {
  /** Its callbacks; accounts of carriers that speak the same interface share one. */
  readonly contract: CarrierContract;
  /** Whether a request could have been made by this account, as far as its headers tell. */
  mayBeSigned(headers: IncomingHttpHeaders): boolean;
  /**
   * Whether this account made the request.
   * @throws ServiceError when the body is not of the carrier's form
   */
  isSigned(request: CarrierRequest): boolean;
  /** Whether this account opens the stream. Never throws. */
  admitsStream(upgrade: StreamUpgrade): boolean;
  /** Tells the carrier what to do with a call, in its own language. */
  render(instruction: CallInstruction): Markup;
  /** For one media socket. */
  createCodec(): MediaCodec;
}

/** The carrier of each mode: test keys always have the simulated one. */
export type Carriers = Record<Mode, Carrier>;
export type CarrierApis = Record<Mode, CarrierApi>;
