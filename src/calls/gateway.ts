import {
  Client,
  Connection,
  ServiceError as TemporalServiceError,
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  isGrpcServiceError,
} from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import type { Config } from '../platform/config/config.js';
import {
  ERASE_WORKFLOW_TYPE,
  eraseWorkflowId,
  REDELIVER_WORKFLOW_TYPE,
  redeliverWorkflowId,
  type RedeliverInput,
} from './follow-ups.js';
import {
  CALL_WORKFLOW_TYPE,
  CARRIER_SIGNAL,
  HANG_UP_SIGNAL,
  MEDIA_SIGNAL,
  RECONNECT_UPDATE,
  RESERVED_UPDATE,
  RESERVED_UPDATE_ID,
} from '../kernel/call-signals.js';
import type {
  CallInput,
  CallWorkflowFunction,
  CarrierSignal,
  HangUpSignal,
  MediaSignal,
  ReconnectRequest,
  ReservationAnswer,
} from '../kernel/call-signals.js';
import type { ReconnectAnswer } from '../kernel/resumption.js';
import type { SearchAttributeName } from '../platform/temporal/search-attributes.js';

/** Thrown when Temporal is away or did not answer in time; the client may ask again. */
export class CallServiceUnavailable extends Error {
  override readonly name = 'CallServiceUnavailable';
}

/** The only way into a running call. */
export interface CallGateway {
  /**
   * Starts the call's workflow, or finds the run that exists, and tells how its reservation went.
   * @param deadline ms since the epoch by which an answer must be there
   * @throws CallServiceUnavailable
   */
  start(input: CallInput, deadline: number): Promise<ReservationAnswer>;
  /** Each signal returns false when the call is over or unknown. `requestId` lets Temporal drop a repeat. */
  signalCarrier(callId: string, signal: CarrierSignal, requestId: string): Promise<boolean>;
  signalMedia(callId: string, signal: MediaSignal, requestId: string): Promise<boolean>;
  /** Asking again for the same cause is dropped. */
  hangUp(callId: string, signal: HangUpSignal): Promise<boolean>;
  /**
   * Asks whether a call that lost its stream gets another one. A request with an update id that was used before gets the
   * first answer again; a call that is over or unknown is to be hung up.
   * @param deadline ms since the epoch by which an answer must be there
   * @throws CallServiceUnavailable
   */
  reconnect(callId: string, request: ReconnectRequest, updateId: string, deadline: number): Promise<ReconnectAnswer>;
  /** Starts the erasure of a call, once; asking again is a success. @throws CallServiceUnavailable */
  erase(callId: string): Promise<void>;
  /** Starts the redelivery of a call's completion event, once per number. @throws CallServiceUnavailable */
  redeliver(redelivery: RedeliverInput): Promise<void>;
  /** @throws CallServiceUnavailable when Temporal does not answer */
  checkHealth(): Promise<void>;
  close(): Promise<void>;
}

/** How long a signal may take; a carrier waits for the answer to its callback meanwhile. */
const SIGNAL_TIMEOUT_MS = 3_000;

const START_TIMEOUT_MS = 1_500;

const GRPC_NOT_FOUND = 5;

/** Connects lazily: a process starts, and answers 503, while Temporal is away. */
export async function createCallGateway(deps: { config: Config }): Promise<CallGateway> {
  const { address, namespace, taskQueue, tls, apiKey } = deps.config.temporal;
  const connection = Connection.lazy({ address, tls, ...(apiKey === undefined ? {} : { apiKey }) });
  const client = new Client({ connection, namespace });

  async function signal(callId: string, signalName: string, payload: object, requestId: string): Promise<boolean> {
    // By the raw service: a workflow handle cannot set the request id by which Temporal drops repeats.
    const input = { payloads: [client.options.loadedDataConverter.payloadConverter.toPayload(payload)] };
    try {
      await client.withDeadline(Date.now() + SIGNAL_TIMEOUT_MS, () =>
        client.workflowService.signalWorkflowExecution({
          namespace,
          workflowExecution: { workflowId: callId },
          signalName,
          input,
          identity: client.options.identity,
          requestId,
        }),
      );
      return true;
    } catch (error) {
      if (isGrpcServiceError(error) && error.code === GRPC_NOT_FOUND) return false;
      throw unavailable(error);
    }
  }

  return {
    async start(input, deadline) {
      const startWorkflowOperation = new WithStartWorkflowOperation<CallWorkflowFunction>(CALL_WORKFLOW_TYPE, {
        workflowId: input.callId,
        taskQueue,
        args: [input],
        workflowIdConflictPolicy: 'USE_EXISTING',
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        typedSearchAttributes: searchAttributesOf(input),
        staticSummary: `${input.direction} call, ${input.mode} mode`,
      });
      try {
        return await client.withDeadline(deadline, () =>
          client.workflow.executeUpdateWithStart<CallWorkflowFunction, ReservationAnswer, []>(RESERVED_UPDATE, {
            startWorkflowOperation,
            updateId: RESERVED_UPDATE_ID,
          }),
        );
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) return answerOfClosedRun(input.callId, deadline);
        throw unavailable(error);
      }
    },

    signalCarrier: (callId, payload, requestId) => signal(callId, CARRIER_SIGNAL, payload, requestId),
    signalMedia: (callId, payload, requestId) => signal(callId, MEDIA_SIGNAL, payload, requestId),
    hangUp: (callId, payload) => signal(callId, HANG_UP_SIGNAL, payload, `hang_up:${payload.cause}`),

    async reconnect(callId, request, updateId, deadline) {
      const run = client.workflow.getHandle(callId);
      try {
        return await client.withDeadline(deadline, () =>
          run.executeUpdate<ReconnectAnswer, [ReconnectRequest]>(RECONNECT_UPDATE, { args: [request], updateId }),
        );
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return { decision: 'hang_up', why: 'over' };
        throw unavailable(error);
      }
    },

    erase: (callId) => startOnce(ERASE_WORKFLOW_TYPE, eraseWorkflowId(callId), { callId }),
    redeliver: (redelivery) => startOnce(REDELIVER_WORKFLOW_TYPE, redeliverWorkflowId(redelivery), redelivery),

    async checkHealth() {
      try {
        await client.withDeadline(Date.now() + 1_000, () => client.workflowService.getSystemInfo({}));
      } catch (error) {
        throw unavailable(error);
      }
    },

    close: () => connection.close(),
  };

  async function startOnce(workflowType: string, workflowId: string, input: object): Promise<void> {
    try {
      await client.withDeadline(Date.now() + START_TIMEOUT_MS, () =>
        client.workflow.start(workflowType, {
          workflowId,
          taskQueue,
          args: [input],
          workflowIdConflictPolicy: 'USE_EXISTING',
          workflowIdReusePolicy: 'REJECT_DUPLICATE',
        }),
      );
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return;
      throw unavailable(error);
    }
  }

  /** Some servers give a closed run's update outcome, some refuse the start: then the run's own result has the answer. */
  async function answerOfClosedRun(callId: string, deadline: number): Promise<ReservationAnswer> {
    try {
      const run = client.workflow.getHandle<CallWorkflowFunction>(callId);
      return (await client.withDeadline(deadline, () => run.result())).reservation;
    } catch (error) {
      throw unavailable(error);
    }
  }
}

/** Set with the start, which costs no event of its own. */
function searchAttributesOf(input: CallInput) {
  const values: Partial<Record<SearchAttributeName, string>> = {
    CallStatus: 'IDLE',
    Direction: input.direction,
    Mode: input.mode,
    AccountId: input.accountId,
    AgentId: input.agentId,
  };
  return Object.entries(values).map(([name, value]) => ({ key: defineSearchAttributeKey(name, 'KEYWORD'), value }));
}

/** What Temporal could not do now becomes one error that says so; a bug of ours stays what it is. */
function unavailable(error: unknown): unknown {
  const ofTemporal =
    error instanceof TemporalServiceError ||
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    error instanceof WorkflowNotFoundError ||
    // An operator terminated the run: it will never say how its reservation went.
    error instanceof WorkflowUpdateFailedError ||
    error instanceof WorkflowFailedError ||
    isGrpcServiceError(error);
  return ofTemporal ? new CallServiceUnavailable('Temporal did not answer', { cause: error }) : error;
}
