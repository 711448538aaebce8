import type { BoundRoute } from '../platform/http/routing/bound-route.js';
import type { IncomingHttpHeaders } from 'node:http';
import type { AnsweredBy, CarrierFinalStatus, Direction, EndReason } from '../kernel/call-state.js';
import type { MachineDetection } from '../kernel/conversation/voicemail.js';
import type { Authenticator } from '../identity/access/authentication.js';
import type { SignedRequests } from '../platform/http/signed-requests.js';
import type {
  CarrierEventHandlers,
  CallInstruction,
  CallInstructions,
  CarrierIdentity,
  CarrierRequest,
  Markup,
} from './callbacks.js';
import type { Logger } from '../platform/telemetry/logger.js';
import type { CarrierAccount, CarrierName } from '../platform/config/config.js';
import type { PerAccount } from './accounts/account-of-call.js';
import type { CarrierApiContract } from './carrier-api-contract.js';
import type { MediaCodec } from './media.js';

/** A call according to the carrier's records. */
export interface CarrierCall {
  carrierSid: string;
  direction?: Direction;
  /** The called number, as the carrier formats it. */
  to?: string;
  /** The number that forwarded an inbound call. */
  forwardedFrom?: string;
  status: 'queued' | 'ringing' | 'in-progress' | CarrierFinalStatus;
  /** Times in ms since the epoch; absent until the carrier reports them. */
  createdAt?: number;
  startedAt?: number;
  endedAt?: number;
  /** When the line was last known to be alive. Only browsers' lines are watched. */
  seenAt?: number;
  durationSeconds?: number;
  answeredBy?: AnsweredBy;
}

/**
 * The outcome of a dial request, as far as the response proves it. `ambiguous`: a call may exist, so never dial again,
 * only look the call up. `throttled` and `unreachable`: no call exists, so dialing again is safe.
 */
export type DialOutcome =
  /** `queuedMs`: the carrier dials the call only after about this time. Absent: at once. */
  | { outcome: 'accepted'; carrierSid: string; queuedMs?: number }
  | { outcome: 'refused'; endReason: EndReason; rejection?: CarrierRejection }
  /** `afterMs`: when to dial again; the carrier gave a reason that lasts. Absent: soon. */
  | { outcome: 'throttled'; afterMs?: number; rejection?: CarrierRejection }
  | { outcome: 'unreachable' }
  | { outcome: 'ambiguous' };

/** The carrier's own reason for a rejection. Contains no phone number. */
export interface CarrierRejection {
  /** The carrier's error code, or the HTTP status. */
  code: string;
  /** Words for the timeline of the call. Absent if we do not know the code. */
  reason?: string;
  /** Tells the operator what to do. Present only if the operator's account or settings are the cause. */
  remedy?: string;
}

export interface DialRequest {
  callId: string;
  to: string;
  from: string;
  ringTimeoutSeconds: number;
  /** Seconds after which the carrier ends the call, even if none of our processes is running. */
  timeLimitSeconds: number;
  /** Asks the carrier to detect answering machines. The carrier reports the result while the call is in progress. */
  machineDetection?: MachineDetection;
}

/** Features that not every carrier supports. */
export interface CarrierCapabilities {
  /** Whether the time limit of a call in progress can be changed. If not, only our timers end the call on time. */
  canChangeTimeLimit: boolean;
}

/**
 * The REST API of one carrier account, as activities use it. Methods other than `dial` throw when the carrier is
 * unavailable. They throw `UnsafeCarrierRequest`, without sending anything, when an identifier does not have the format
 * of this carrier's call ids.
 */
export interface CarrierApi extends CarrierIdentity {
  readonly capabilities: CarrierCapabilities;
  /** Requests a call once. Never throws, because the outcome includes failures. Takes at most 10 s. */
  dial(request: DialRequest): Promise<DialOutcome>;
  /** Ends a call that rings or is in progress. Succeeds if the call has already ended. */
  hangUp(carrierSid: string): Promise<void>;
  /**
   * Changes the carrier's time limit of the call, where the carrier supports that. Succeeds if the call has already
   * ended.
   */
  limitTo(carrierSid: string, seconds: number): Promise<void>;
  /** Returns the carrier's record of a call; undefined when the carrier has no such call. */
  fetch(carrierSid: string): Promise<CarrierCall | undefined>;
  /**
   * Returns the calls placed from one number to another since a time (ms since the epoch), newest first. Queued calls
   * are included.
   */
  findPlaced(query: { to: string; from: string; since: number }): Promise<CarrierCall[]>;
}

/** An upgrade request for a media stream. */
export interface StreamUpgrade {
  /** The configured stream URL plus the call's id, without anything that follows the id. */
  url: string;
  /** The rest of the request URL after the call's id, unchanged: further path segments or a query; usually empty. */
  rest: string;
  headers: IncomingHttpHeaders;
}

/** The dependencies of a carrier's callback routes. */
export interface CallbackDeps {
  publicBaseUrl: string;
  /** The carrier accounts that may send these requests. */
  carriers: Partial<Carriers>;
  signedRequests: SignedRequests;
  authenticator: Pick<Authenticator, 'byKeyOrCarrier'>;
  events: CarrierEventHandlers;
  instructions: CallInstructions;
  logger: Logger;
}

/** A carrier's HTTP requests to us: their routes, and how to verify and parse them. */
export interface CarrierContract {
  /** The carrier's part of the API. The OpenAPI document describes it. */
  readonly api: CarrierApiContract;
  createRoutes(deps: CallbackDeps): BoundRoute[];
}

/** Everything about one carrier account: its REST API, its callbacks, its call instructions and its media streams. */
export interface Carrier extends CarrierApi {
  /** The carrier's callbacks. Accounts of carriers with the same API share one contract. */
  readonly contract: CarrierContract;
  /** Whether a request may come from this account. Looks only at the headers. */
  mayBeSigned(headers: IncomingHttpHeaders): boolean;
  /**
   * Whether this account signed the request.
   * @throws ServiceError when the body does not have the carrier's format
   */
  isSigned(request: CarrierRequest): boolean;
  /** Whether this account may have signed the request for a media stream. Looks only at the form of its signature. */
  mayAdmitStream(upgrade: StreamUpgrade): boolean;
  /** Whether this account signed the request for a media stream. Never throws. */
  admitsStream(upgrade: StreamUpgrade): boolean;
  /** Converts an instruction to the carrier's format. */
  render(instruction: CallInstruction): Markup;
  /** Creates the codec for one media socket. */
  createCodec(): MediaCodec;
}

/** Creates the carrier of an account. `timeoutMs` limits each request to the carrier. */
export type CarrierFactory = (deps: {
  account: CarrierAccount;
  publicBaseUrl: string;
  streamUrl: string;
  timeoutMs?: number;
}) => Carrier;

/** The export of a carrier's folder, from which the list of carriers is made. */
export interface CarrierDescription<Kind extends CarrierName> {
  /** The value of CARRIER in the configuration. */
  kind: Kind;
  create: CarrierFactory;
}

/** The factories of the carriers by their kinds in the configuration, which all have one. */
export type CarrierList = { readonly [Kind in CarrierName]: CarrierFactory };

/** The carrier of each account. Test keys always use the simulated carrier. */
export type Carriers = PerAccount<Carrier>;
export type CarrierApis = PerAccount<CarrierApi>;
