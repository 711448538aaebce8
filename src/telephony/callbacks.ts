import type { IncomingHttpHeaders } from 'node:http';
import type { Forwarder } from '../identity/access/principal.js';
import type { CarrierSignal } from '../kernel/call-signals.js';
import type { AnsweredBy } from '../kernel/call-state.js';
import type { Mode } from '../kernel/ids.js';
import type { CarrierEventDocument } from './carrier-event-model.js';

/** Which kind of carrier, and what its identifiers of calls look like. */
export interface CarrierIdentity {
  /** The name of its kind in the registry; each call's binding stores it. */
  readonly kind: string;
  /** Whether a text has the form of this carrier's identifiers of calls. */
  isCallId(text: string): boolean;
}

/** A request that a carrier may have made, as it came. */
export interface CarrierRequest {
  /** The address the carrier was told to call: the configured base with the raw path and query. */
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** A call at a carrier, as a verified request names it. */
export interface CarrierCallRef {
  /** The mode whose account made the request. */
  mode: Mode;
  carrier: CarrierIdentity;
  /** Empty when the request names no call. */
  carrierSid: string;
}

/** What a status callback says. */
export interface StatusReport {
  /** What it tells the call; absent for the statuses on the way, which change nothing. */
  signal?: CarrierSignal;
  /** Tells a repeat of the callback from another one; absent when the carrier does not number them. */
  sequence?: string;
  /** For the timeline. */
  record: Omit<CarrierEventDocument, '_id' | 'createdAt' | 'callId' | 'carrierSid'>;
}

/** A call that has come in, described by the carrier or by whoever forwards its webhook. */
export interface ArrivedCall extends CarrierCallRef {
  /** Who brought it: the owner of an API key, or the mode whose carrier signed. */
  forwarder: Forwarder;
  from: string;
  to: string;
  forwardedFrom?: string | undefined;
  agentId?: string | undefined;
  externalCallId?: string | undefined;
  /** What its sender is told, in the sender's terms, when the call is refused. */
  wording: {
    /** It is no live call to a number of the forwarder's. */
    notOwn: string;
    ofAnotherCall: string;
  };
}

/**
 * What the carrier tells of calls; the domain of calls fills it. What cannot be about a call of ours is ignored.
 * A rejected promise means that we cannot tell, and that the carrier should ask again.
 */
export interface CallEvents {
  /** The status of an outbound call. */
  statusOf(callId: string, told: CarrierCallRef, report: StatusReport): Promise<void>;
  /** The status of a call that only the carrier's identifier names. */
  status(told: CarrierCallRef, report: StatusReport): Promise<void>;
  /** Who answered, by the carrier's detection of answering machines. */
  answeredBy(callId: string, told: CarrierCallRef, who: AnsweredBy): Promise<void>;
  /** The number that the call was transferred to has answered. `told` names the call, not its other leg. */
  transferAnswered(callId: string, told: CarrierCallRef): Promise<void>;
}

/** By when a request of the carrier must be answered, and under which id it is logged. */
export interface AnswerTerms {
  /** Ms since the epoch. */
  deadline: number;
  requestId: string;
}

/** What a carrier is to do with a call; the domain of calls fills it. */
export interface CallInstructions {
  /** An outbound call was answered. Never rejects. */
  answered(callId: string, told: CarrierCallRef, terms: AnswerTerms): Promise<CallInstruction>;
  /** The n-th stream of the call is gone (the first is 0), or a transfer is over. Never rejects. */
  streamEnded(callId: string, told: CarrierCallRef, ended: EndedStream, terms: AnswerTerms): Promise<CallInstruction>;
  /** A call has come in. @throws ServiceError when it is not taken */
  arrived(call: ArrivedCall, deadline: number): Promise<CallInstruction>;
}

export interface EndedStream {
  /** Number of the stream; anything but that of a resumption stands for the first. */
  after: number;
  /** After a transfer: whether its other side had answered. */
  transferConnected?: boolean;
}

export type CallInstruction =
  /** `resumption`: the number of a stream that takes the place of a lost one. */
  | { kind: 'stream'; callId: string; resumption?: number }
  /** `callerId`: a number of ours. `timeLimitSeconds`: from the answer of the other side. */
  | { kind: 'transfer'; callId: string; to: string; callerId: string; timeLimitSeconds: number }
  /** Says the words, then hangs up. */
  | { kind: 'apology'; words: string }
  | { kind: 'hang_up' }
  /** Leaves a call that has come in unanswered, so that the carrier bills nothing. */
  | { kind: 'reject' };

/** An instruction in a carrier's language. */
export interface Markup {
  contentType: string;
  body: string;
}
