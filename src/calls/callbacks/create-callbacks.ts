import type { CarrierEventHandlers, CallInstructions } from '../../telephony/callbacks.js';
import { createReceiveCall, type InboundCallDeps } from '../placing/inbound-call.js';
import { createContinueAfterStream, type AfterStreamDeps } from './after-stream.js';
import { createAnswerOutboundCall, type AnswerDeps } from './answer.js';
import { createRecordAnsweredBy, type AnsweredByDeps } from './answered-by.js';
import { createStatusHandlers, type StatusDeps } from './status.js';
import { createRecordTransferAnswer, type TransferStatusDeps } from './transfer-status.js';

/** Handlers of the carrier's events: status, answering machine detection, answered transfers. */
export function createCarrierEventHandlers(
  deps: StatusDeps & AnsweredByDeps & TransferStatusDeps,
): CarrierEventHandlers {
  return {
    ...createStatusHandlers(deps),
    recordAnsweredBy: createRecordAnsweredBy(deps),
    recordTransferAnswer: createRecordTransferAnswer(deps),
  };
}

/** Handlers of the carrier's requests for instructions. */
export function createCallInstructions(deps: AnswerDeps & AfterStreamDeps & InboundCallDeps): CallInstructions {
  return {
    answerOutboundCall: createAnswerOutboundCall(deps),
    continueAfterStream: createContinueAfterStream(deps),
    receiveCall: createReceiveCall(deps),
  };
}
