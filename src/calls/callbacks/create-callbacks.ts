import type { CallEvents, CallInstructions } from '../../telephony/callbacks.js';
import { createReceiveCall, type InboundCallDeps } from '../placing/inbound-call.js';
import { createContinueAfterStream, type AfterStreamDeps } from './after-stream.js';
import { createAnswerOutboundCall, type AnswerDeps } from './answer.js';
import { createNoteAnsweredBy, type AnsweredByDeps } from './answered-by.js';
import { createCarrierStatus, type StatusDeps } from './status.js';
import { createNoteTransferAnswer, type TransferStatusDeps } from './transfer-status.js';

/** Handlers of the carrier's events: status, answering machine detection, answered transfers. */
export function createCallEvents(deps: StatusDeps & AnsweredByDeps & TransferStatusDeps): CallEvents {
  return {
    ...createCarrierStatus(deps),
    answeredBy: createNoteAnsweredBy(deps),
    transferAnswered: createNoteTransferAnswer(deps),
  };
}

/** Handlers of the carrier's requests for instructions. */
export function createCallInstructions(deps: AnswerDeps & AfterStreamDeps & InboundCallDeps): CallInstructions {
  return {
    answered: createAnswerOutboundCall(deps),
    streamEnded: createContinueAfterStream(deps),
    arrived: createReceiveCall(deps),
  };
}
