import type { IncomingHttpHeaders } from 'node:http';
import type { Forwarder } from '../identity/access/principal.js';
import type { CarrierSignal } from '../kernel/call-signals.js';
import type { AnsweredBy } from '../kernel/call-state.js';
import type { Mode } from '../kernel/ids.js';
import type { CarrierAccountRef } from './accounts/account-of-call.js';
import type { CarrierEventDocument } from './carrier-event-model.js';

/** The kind of a carrier, the account there, and the format of its call identifiers. */
export interface CarrierIdentity {
  /** Absent if the carrier has no accounts, as the carrier of calls in the browser. */
  readonly account?: CarrierAccountRef;
  /** The carrier's kind in the registry, stored in each call's binding. */
  readonly kind: string;
  /** Whether a text has the format of this carrier's call identifiers. */
  isCallId(text: string): boolean;
}

/** An unparsed request that a carrier may have made. */
export interface CarrierRequest {
  /** The URL given to the carrier: the configured base URL with the raw path and query. */
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** A call at a carrier, as identified by a verified request. */
export interface CarrierCallRef {
  /** The mode whose carrier account made the request. */
  mode: Mode;
  carrier: CarrierIdentity;
  /** The carrier's call id; empty when the request is about no call. */
  carrierSid: string;
}

/** The content of a status callback. */
export interface StatusReport {
  /** The signal to send to the call's workflow. Absent for intermediate statuses, which change nothing. */
  signal?: CarrierSignal;
  /** The entry for the call's timeline. */
  record: Omit<CarrierEventDocument, '_id' | 'createdAt' | 'callId' | 'carrierSid'>;
}

/** An incoming call, as described by the carrier or by a client that forwards the carrier's webhook. */
export interface InboundCall extends CarrierCallRef {
  /** The sender of the request: the owner of an API key, or the carrier account of one mode that signed it. */
  forwarder: Forwarder;
  from: string;
  to: string;
  forwardedFrom?: string | undefined;
  agentId?: string | undefined;
  externalCallId?: string | undefined;
  /** The X-Request-Id. */
  requestId: string;
  /** Gets the id of the call when it is known, for the log. */
  onCallId?: (callId: string) => void;
  /** Error messages for a rejected call, in the terms of the API that the sender used. */
  errorMessages: {
    /** The call is not a live call to one of the sender's numbers. */
    notOwnCall: string;
    belongsToAnotherCall: string;
  };
}

/**
 * Handles the carrier's events; implemented by the calls domain. Events that cannot belong to one of our calls are
 * ignored. A rejected promise means that the event was not processed and that the carrier should send it again.
 */
export interface CarrierEventHandlers {
  /** The status of an outbound call. */
  handleStatus(callId: string, carrierCall: CarrierCallRef, report: StatusReport): Promise<void>;
  /** The status of a call for which only the carrier's call id is known. */
  handleStatusBySid(carrierCall: CarrierCallRef, report: StatusReport): Promise<void>;
  /** The result of the carrier's answering machine detection. */
  recordAnsweredBy(callId: string, carrierCall: CarrierCallRef, answeredBy: AnsweredBy): Promise<void>;
  /** The number that the call was transferred to has answered. `carrierCall` is the call, not its other leg. */
  recordTransferAnswer(callId: string, carrierCall: CarrierCallRef): Promise<void>;
}

/** The deadline of a response to the carrier, and the request id for the logs. */
export interface ResponseContext {
  /** In ms since the epoch. */
  deadline: number;
  requestId: string;
}

/** Decides what a carrier does with a call; implemented by the calls domain. */
export interface CallInstructions {
  /** An outbound call was answered. Never rejects. */
  answerOutboundCall(callId: string, carrierCall: CarrierCallRef, context: ResponseContext): Promise<CallInstruction>;
  /** Stream number n of the call has ended (the first stream has number 0), or a transfer is over. Never rejects. */
  continueAfterStream(
    callId: string,
    carrierCall: CarrierCallRef,
    ended: EndedStream,
    context: ResponseContext,
  ): Promise<CallInstruction>;
  /** A call has come in. @throws ServiceError when the call is not accepted */
  receiveCall(call: InboundCall, deadline: number): Promise<CallInstruction>;
}

export interface EndedStream {
  /** Stream number of the stream that has ended. */
  streamNumber: number;
  /** After a transfer: whether the other party answered. */
  transferConnected?: boolean;
  /** The carrier asks again, because it could not use an earlier response. That one may have started a transfer. */
  isFallback?: true;
}

export type CallInstruction =
  /** `streamNumber`: the number of a stream that replaces a lost one; absent for the call's first stream. */
  | { kind: 'stream'; callId: string; streamNumber?: number }
  /** `callerId`: one of our numbers. `timeLimitSeconds`: counted from when the other party answers. */
  | { kind: 'transfer'; callId: string; to: string; callerId: string; timeLimitSeconds: number }
  /** Speaks the text, then hangs up. */
  | { kind: 'apology'; text: string }
  | { kind: 'hang_up' }
  /** Rejects an incoming call without answering it, so that the carrier does not bill it. */
  | { kind: 'reject' };

/** An instruction in a carrier's own format. */
export interface Markup {
  contentType: string;
  body: string;
}
