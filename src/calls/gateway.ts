import {
  Client,
  ServiceError as TemporalServiceError,
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  isGrpcServiceError,
  type ClientInterceptors,
} from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import type { Mode } from '../kernel/ids.js';
import type { Config } from '../platform/config/config.js';
import type { Queue } from '../platform/config/temporal/task-queues.js';
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
  CallStart,
  CallWorkflowFunction,
  CarrierSignal,
  HangUpSignal,
  MediaSignal,
  ReconnectRequest,
  ReservationResult,
} from '../kernel/call-signals.js';
import type { ReconnectDecision } from '../kernel/resumption.js';
import { inSpan, traceparentOf } from '../platform/telemetry/spans.js';
import { connectionOptions, QuietConnection } from '../platform/temporal/connection.js';
import { createDataConverter, toPayloads } from '../platform/temporal/data-converter.js';
import { createTemporalCheck } from '../platform/temporal/health.js';
import { traceHeader } from '../platform/temporal/trace-header.js';
import type { SearchAttributeName } from '../platform/temporal/search-attributes.js';

/** Thrown when Temporal is unavailable or did not respond in time; the request may be retried. */
export class CallServiceUnavailable extends Error {
  override readonly name = 'CallServiceUnavailable';
}

/** Starts call workflows and sends them signals and updates. No other code accesses running calls. */
export interface CallGateway {
  /**
   * Starts the call's workflow, or finds the existing run. Returns the result of its reservation.
   * @param deadline ms since the epoch
   * @throws CallServiceUnavailable
   */
  start(input: CallStart, deadline: number): Promise<ReservationResult>;
  /** Signals the workflow. Returns false if the call has ended or is unknown. Temporal drops a repeated `requestId`. */
  signalCarrier(callId: string, signal: CarrierSignal, requestId: string): Promise<boolean>;
  signalMedia(callId: string, signal: MediaSignal, requestId: string): Promise<boolean>;
  /** Requests the end of the call. A repeat with the same cause is dropped. */
  hangUp(callId: string, signal: HangUpSignal): Promise<boolean>;
  /**
   * Asks the workflow whether a call that lost its media stream gets another one. A repeated update id returns the
   * first response again. For a call that has ended or is unknown, the decision is `hang_up`.
   * @param deadline ms since the epoch
   * @throws CallServiceUnavailable
   */
  reconnect(callId: string, request: ReconnectRequest, updateId: string, deadline: number): Promise<ReconnectDecision>;
  /**
   * Starts the erasure of a call, or joins the one that runs. Repeats it if it has ended: the data may be there again, such as
   * after a restore of the database.
   * @throws CallServiceUnavailable
   */
  erase(callId: string): Promise<void>;
  /**
   * Starts a redelivery of the completion event. Repeating the same redelivery number sends nothing again, because its
   * attempts are stored.
   * @throws CallServiceUnavailable
   */
  redeliver(redelivery: RedeliverInput): Promise<void>;
  /** @throws CallServiceUnavailable when Temporal, its database or its matching service does not respond */
  checkHealth(): Promise<void>;
  close(): Promise<void>;
}

/** Timeout of a signal. It is short, because a carrier waits for the response to its callback. */
const SIGNAL_TIMEOUT_MS = 3_000;

const START_TIMEOUT_MS = 1_500;

const GRPC_NOT_FOUND = 5;

/** Connects lazily, so that a process can start, and respond with 503, while Temporal is unavailable. */
export async function createCallGateway(deps: GatewayDeps): Promise<CallGateway> {
  return withTraces(createGateway(deps));
}

interface GatewayDeps {
  config: Config;
  interceptors?: ClientInterceptors | undefined;
}

function createGateway(deps: GatewayDeps): CallGateway {
  const { namespace, taskQueues } = deps.config.temporal;
  const connection = QuietConnection.lazy(connectionOptions(deps.config.temporal));
  const { interceptors } = deps;
  const dataConverter = createDataConverter(deps.config.temporal.payloadKeys);
  const client = new Client({ connection, namespace, dataConverter, ...(interceptors && { interceptors }) });

  const checkTemporal = createTemporalCheck({ connection, namespace, taskQueue: taskQueues.calls });

  async function signal(callId: string, signalName: string, payload: object, requestId: string): Promise<boolean> {
    // Uses the raw service, because a workflow handle cannot set the request id by which Temporal detects repeats.
    const input = { payloads: await toPayloads(dataConverter, payload) };
    try {
      await client.withDeadline(Date.now() + SIGNAL_TIMEOUT_MS, () =>
        client.workflowService.signalWorkflowExecution({
          namespace,
          workflowExecution: { workflowId: callId },
          signalName,
          input,
          identity: client.options.identity,
          requestId,
          ...traceHeader(traceparentOf(callId)),
        }),
      );
      return true;
    } catch (error) {
      if (isGrpcServiceError(error) && error.code === GRPC_NOT_FOUND) return false;
      throw toUnavailable(error);
    }
  }

  return {
    async start({ agentId, ...input }, deadline) {
      const startWorkflowOperation = new WithStartWorkflowOperation<CallWorkflowFunction>(CALL_WORKFLOW_TYPE, {
        workflowId: input.callId,
        // All tasks of the call stay in this queue.
        taskQueue: taskQueues[queueOf(input.mode)],
        args: [input],
        workflowIdConflictPolicy: 'USE_EXISTING',
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        typedSearchAttributes: initialSearchAttributes({ ...input, agentId }),
      });
      try {
        return await client.withDeadline(deadline, () =>
          client.workflow.executeUpdateWithStart<CallWorkflowFunction, ReservationResult, []>(RESERVED_UPDATE, {
            startWorkflowOperation,
            updateId: RESERVED_UPDATE_ID,
          }),
        );
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError)
          return reservationOfClosedRun(input.callId, deadline);
        throw toUnavailable(error);
      }
    },

    signalCarrier: (callId, payload, requestId) => signal(callId, CARRIER_SIGNAL, payload, requestId),
    signalMedia: (callId, payload, requestId) => signal(callId, MEDIA_SIGNAL, payload, requestId),
    hangUp: (callId, payload) => signal(callId, HANG_UP_SIGNAL, payload, `hang_up:${payload.cause}`),

    async reconnect(callId, request, updateId, deadline) {
      const run = client.workflow.getHandle(callId);
      try {
        return await client.withDeadline(deadline, () =>
          run.executeUpdate<ReconnectDecision, [ReconnectRequest]>(RECONNECT_UPDATE, { args: [request], updateId }),
        );
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return { decision: 'hang_up', why: 'over' };
        throw toUnavailable(error);
      }
    },

    erase: (callId) => startFollowUp(ERASE_WORKFLOW_TYPE, eraseWorkflowId(callId), { callId }),
    redeliver: (redelivery) => startFollowUp(REDELIVER_WORKFLOW_TYPE, redeliverWorkflowId(redelivery), redelivery),

    async checkHealth() {
      try {
        await checkTemporal();
      } catch (error) {
        throw toUnavailable(error);
      }
    },

    close: () => connection.close(),
  };

  /** Starts a workflow unless it runs. One that has ended may run again: the database may have been restored since. */
  async function startFollowUp(workflowType: string, workflowId: string, input: object): Promise<void> {
    try {
      await client.withDeadline(Date.now() + START_TIMEOUT_MS, () =>
        client.workflow.start(workflowType, {
          workflowId,
          taskQueue: taskQueues.background,
          args: [input],
          workflowIdConflictPolicy: 'USE_EXISTING',
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        }),
      );
    } catch (error) {
      throw toUnavailable(error);
    }
  }

  /**
   * Reads the reservation from the result of a closed run. When a call is started again after its run has closed, some
   * Temporal servers reject the start instead of returning the result of the update.
   */
  async function reservationOfClosedRun(callId: string, deadline: number): Promise<ReservationResult> {
    try {
      const run = client.workflow.getHandle<CallWorkflowFunction>(callId);
      return (await client.withDeadline(deadline, () => run.result())).reservation;
    } catch (error) {
      throw toUnavailable(error);
    }
  }
}

/** Runs the requests to a call's workflow in its trace. The start has a span by Temporal's interceptors. */
function withTraces(gateway: CallGateway): CallGateway {
  const inTraceOf = <T>(callId: string, operation: string, work: () => Promise<T>) =>
    inSpan(`temporal ${operation}`, { callId, kind: 'client', facts: { operation } }, work);
  return {
    ...gateway,
    signalCarrier: (callId, ...p) => inTraceOf(callId, CARRIER_SIGNAL, () => gateway.signalCarrier(callId, ...p)),
    signalMedia: (callId, ...p) => inTraceOf(callId, MEDIA_SIGNAL, () => gateway.signalMedia(callId, ...p)),
    hangUp: (callId, signal) => inTraceOf(callId, HANG_UP_SIGNAL, () => gateway.hangUp(callId, signal)),
    reconnect: (callId, ...p) => inTraceOf(callId, RECONNECT_UPDATE, () => gateway.reconnect(callId, ...p)),
    erase: (callId) => inTraceOf(callId, 'erase', () => gateway.erase(callId)),
    redeliver: (redelivery) => inTraceOf(redelivery.callId, 'redeliver', () => gateway.redeliver(redelivery)),
  };
}

/** Test calls are free, so they must not delay live ones. */
function queueOf(mode: Mode): Queue {
  return mode === 'live' ? 'calls' : 'background';
}

/** Search attributes to set when the workflow starts. Setting them then adds no event to its history, only bytes. */
function initialSearchAttributes(input: CallStart) {
  const values: Partial<Record<SearchAttributeName, string>> = {
    Direction: input.direction,
    Mode: input.mode,
    AccountId: input.accountId,
    AgentId: input.agentId,
  };
  return Object.entries(values).map(([name, value]) => ({ key: defineSearchAttributeKey(name, 'KEYWORD'), value }));
}

/** Converts failures of Temporal to `CallServiceUnavailable`. Other errors, such as bugs, are returned unchanged. */
function toUnavailable(error: unknown): unknown {
  const isTemporalFailure =
    error instanceof TemporalServiceError ||
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    error instanceof WorkflowNotFoundError ||
    // An operator terminated the run, so it will never have a reservation result.
    error instanceof WorkflowUpdateFailedError ||
    error instanceof WorkflowFailedError ||
    isGrpcServiceError(error);
  return isTemporalFailure ? new CallServiceUnavailable('Temporal did not respond', { cause: error }) : error;
}
