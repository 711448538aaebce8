import { createCallResults } from '../../../src/calls/wiring.js';
import { createCallGate } from '../../../src/calls/wiring.js';
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime, Worker, type RuntimeOptions } from '@temporalio/worker';
import { ulid } from 'ulid';
import { createActivities } from '../../../activities/create-activities.js';
import { CallServiceUnavailable, createCallGateway, type CallGateway } from '../../../src/calls/gateway.js';
import type { AgentSnapshot } from '../../../src/agents/agent-snapshot.js';
import type { CarrierApi, CarrierCall, DialOutcome, DialRequest } from '../../../src/telephony/port.js';
import { parseConfig } from '../../../src/platform/config/config.js';
import type { Direction, MediaEndReason } from '../../../src/kernel/call-state.js';
import { ledgerAccountId } from '../../../src/kernel/ids.js';
import { SEARCH_ATTRIBUTES } from '../../../src/platform/temporal/search-attributes.js';
import type { ReconnectDecision } from '../../../src/kernel/resumption.js';
import type { CallInput, CallResult, CallStart } from '../../../src/kernel/call-signals.js';
import { createAccounts } from '../../../src/identity/accounts/accounts.js';
import { createCarrierBindings } from '../../../src/telephony/carrier-bindings.js';
import { createCallRequests } from '../../../src/calls/call-requests.js';
import { createIndexes } from '../../../src/platform/mongo/indexes.js';
import { openDatabase, type Database } from '../../../src/database.js';
import { createLedger, type Ledger } from '../../../src/billing/ledger/ledger.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { startTimeSkippingEnvironment } from '../../support/time-skipping-environment';
import { sidOf, SIMULATED } from '../../support/sids.js';

export const PHONE_NUMBER = '+12025550177';
export const INSTRUCTION = 'Ask for the canary sentence about the purple elephant.';
export const SID = sidOf('CA', 1);

/** A carrier in place of the Twilio adapter. It responds as the test configures and records the requests. */
export class ScriptedCarrier implements CarrierApi {
  readonly kind = 'simulator';
  readonly capabilities = { canChangeTimeLimit: true };
  dials = 0;
  onDial: ((callId: string) => Promise<void>) | undefined;
  readonly hungUp: string[] = [];
  readonly limits: number[] = [];
  outcomes: DialOutcome[] = [];
  record: CarrierCall | undefined;
  isUnavailable = false;
  placed: CarrierCall[] = [];
  onHangUp: (() => Promise<void>) | undefined;

  isCallId(text: string): boolean {
    return SIMULATED.isCallId(text);
  }
  async dial({ callId }: Pick<DialRequest, 'callId'>): Promise<DialOutcome> {
    this.dials++;
    await this.onDial?.(callId);
    return this.outcomes.shift() ?? { outcome: 'accepted', carrierSid: SID };
  }
  async hangUp(carrierSid: string): Promise<void> {
    this.hungUp.push(carrierSid);
    await this.onHangUp?.();
  }
  async limitTo(_carrierSid: string, seconds: number): Promise<void> {
    this.limits.push(seconds);
  }
  async fetch(): Promise<CarrierCall | undefined> {
    if (this.isUnavailable) throw new Error('the carrier is unavailable');
    return this.record;
  }
  async findPlaced(): Promise<CarrierCall[]> {
    return this.placed;
  }
}

export type Harness = Awaited<ReturnType<typeof startHarness>>;

/**
 * Runs the real workflow and activities on a real database and a Temporal test server whose clock the test controls.
 * With `realTime`, it uses the development server instead.
 */
export async function startHarness(
  options: {
    realTime?: boolean;
    env?: NodeJS.ProcessEnv;
    runtime?: RuntimeOptions;
    /** True for tests that replace the workers: the time-skipping server never gives up the queue of a stopped worker. */
    replaysAlways?: boolean;
    /** The workflows to run; by default, the built ones. */
    workflowBundle?: { code: string };
  } = {},
) {
  Runtime.install({ logger: new DefaultLogger('ERROR'), ...options.runtime });
  const environment = await (options.realTime ? startRealTime() : startTimeSkipping());
  const database = await openDatabase(`${process.env.TEST_MONGODB_URI}/workflow_${randomUUID()}`);
  await createIndexes(database);
  const config = parseConfig({
    NODE_ENV: 'test',
    TEMPORAL_ADDRESS: environment.address,
    TEMPORAL_TASK_QUEUE: `calls-${randomUUID()}`,
    ...options.env,
  });
  const logger = createLogger({ role: 'test', level: 'silent' });
  const carrier = new ScriptedCarrier();
  // Loads the numbering plans first, as a worker does. Otherwise the test's clock would jump ahead while the first dial
  // waits for them.
  const dialGate = createCallGate({ config, database });
  await dialGate.loadNumberingPlans();
  const shared = {
    connection: environment.nativeConnection,
    ...(options.replaysAlways ? { maxCachedWorkflows: 0 } : {}),
    workflowBundle: options.workflowBundle ?? {
      codePath: path.resolve(__dirname, '../../../dist/workers/workflow-bundle.js'),
    },
    activities: createActivities({
      config,
      database,
      carriers: { live: carrier, test: carrier },
      logger,
      clock: () => environment.currentTimeMs(),
      dialGate,
    }),
  };
  const queues = Object.values(config.temporal.taskQueues);
  async function startWorkers() {
    const workers = await Promise.all(queues.map((taskQueue) => Worker.create({ ...shared, taskQueue })));
    const running = workers.map((worker) => worker.run());
    return async () => {
      for (const worker of workers) worker.shutdown();
      await Promise.all(running);
    };
  }
  let stopWorkers = await startWorkers();
  const gateway = await createCallGateway({ config });
  return {
    config,
    environment,
    database,
    carrier,
    gateway,
    ledger: createLedger(database),
    results: createCallResults(database),
    lastCallId: '',
    /** Does something while no worker runs. Then a worker gets all events of that time in one task. */
    async withoutWorkers(work: () => Promise<unknown>): Promise<void> {
      await stopWorkers();
      try {
        await work();
      } finally {
        stopWorkers = await startWorkers();
      }
    },
    async stop(): Promise<void> {
      await stopWorkers();
      await gateway.close();
      await database.connection.dropDatabase().catch(() => undefined);
      await database.close();
      await environment.teardown();
    },
  };
}

function startRealTime(): Promise<TestWorkflowEnvironment> {
  return TestWorkflowEnvironment.createFromExistingServer({ address: String(process.env.TEST_TEMPORAL_ADDRESS) });
}

async function startTimeSkipping(): Promise<TestWorkflowEnvironment> {
  const environment = await startTimeSkippingEnvironment();
  await environment.connection.operatorService.addSearchAttributes({
    namespace: 'default',
    searchAttributes: Object.fromEntries(Object.keys(SEARCH_ATTRIBUTES).map((name) => [name, 2])),
  });
  return environment;
}

export interface TestCall {
  callId: string;
  accountId: string;
  now(): Promise<number>;
  sleep(ms: number): Promise<void>;
  answer(): Promise<void>;
  startStream(): Promise<void>;
  endStream(reason?: MediaEndReason, played?: boolean): Promise<void>;
  /**
   * Requests the next stream, as the API does when the carrier reports the end of a stream. `after` is the number of
   * the stream that ended.
   */
  reconnect(
    after: number,
    facts?: { startedAt?: number; agentAudioPlayed?: boolean; neverStarted?: true; planned?: true },
  ): Promise<ReconnectDecision>;
  /** Gives the call up, as an API process does that cannot tell the carrier what follows stream number `after`. */
  giveUp(after?: number): Promise<void>;
  end(
    status: 'completed' | 'busy' | 'failed' | 'no-answer' | 'canceled',
    more?: { durationSeconds?: number; sipCode?: number },
  ): Promise<void>;
  result(): Promise<CallResult>;
  /**
   * Returns when the workflow closed, by the test server's clock. That clock jumps ahead while workflows only wait for
   * timers.
   */
  closedAt(): Promise<number>;
  stored(): ReturnType<Database['calls']['findById']>;
  balance(): ReturnType<Ledger['balance']>;
}

/** Creates an account with this balance and a call of it, and starts the call's workflow. */
export async function placeCall(
  harness: Harness,
  options: Partial<CallInput> & {
    seconds?: number;
    webhookUrl?: string;
    concurrentCalls?: number;
    dailySpendCapMicros?: number;
    /** The price per second in the stored request. Old requests have none; then the default price applies. */
    microsPerSecond?: number;
    /** The id of an existing account, if the call must not get a new one. */
    accountId?: string;
    /** True if the carrier gets no instructions for the answered call, because no API process runs. */
    uninstructed?: true;
    /** Changes of the agent's fields. */
    agent?: Partial<AgentSnapshot>;
  } = {},
) {
  const { database, environment, gateway } = harness;
  const {
    seconds = 36_000,
    webhookUrl,
    concurrentCalls,
    dailySpendCapMicros,
    accountId,
    uninstructed,
    agent,
    ...more
  } = options;
  const { microsPerSecond, ...input } = more;
  const accounts = createAccounts(database);
  const account = await accounts.create({
    name: 'Test',
    plan: 'scale',
    ...(accountId === undefined ? {} : { accountId }),
  });
  if (concurrentCalls !== undefined) await accounts.setLimits(account._id, { concurrentCalls });
  if (dailySpendCapMicros !== undefined) await accounts.setLimits(account._id, { dailySpendCapMicros });
  const direction: Direction = input.direction ?? 'outbound';
  const callId = input.callId ?? `call_${ulid()}`;
  const ledgerId = ledgerAccountId(account._id, input.mode ?? 'live');
  if (seconds > 0)
    await harness.ledger.topUp({
      ledgerAccountId: ledgerId,
      paymentId: 'p1',
      amountMicros: seconds * (microsPerSecond ?? 2_500),
    });
  await createCallRequests(database).insert({
    _id: callId,
    accountId: account._id,
    mode: input.mode ?? 'live',
    direction,
    fromPhoneNumber: '+12025550199',
    toPhoneNumber: PHONE_NUMBER,
    agent: {
      agentId: 'agent_tmp_00000000000000000000000001',
      instruction: INSTRUCTION,
      voice: 'amber',
      language: 'en-US',
      ...agent,
    },
    inputParameters: '{}',
    externalCallId: '',
    ...(webhookUrl === undefined ? {} : { webhookUrl }),
    ringTimeoutSeconds: input.ringTimeoutSeconds ?? 30,
    maxDurationSeconds: input.maxDurationSeconds ?? 600,
    ...(microsPerSecond === undefined ? {} : { microsPerSecond }),
    createdAt: new Date(),
  });
  const request: CallStart = {
    callId,
    accountId: account._id,
    mode: 'live',
    direction,
    agentId: 'agent_tmp_00000000000000000000000001',
    ringTimeoutSeconds: 30,
    maxDurationSeconds: 600,
    answerWithinMs: 10_000,
    notify: webhookUrl !== undefined,
    ...(direction === 'inbound' ? { carrierSid: SID } : {}),
    ...input,
  };
  const start = () => gateway.start(request, Date.now() + 50_000);
  // The time-skipping server fails now and then on a busy machine. Clients of the API repeat such a request, too.
  const answer = await start().catch((error: unknown) => {
    if (error instanceof CallServiceUnavailable) return start();
    throw error;
  });
  const now = () => environment.currentTimeMs();
  let sequence = 0;
  const requestId = () => `${callId}:${sequence++}`;
  /** When a call is answered, the carrier asks the API for instructions, which records that it got some. */
  async function recordInstruction(): Promise<void> {
    if (direction === 'inbound' || uninstructed) return;
    const bindings = createCarrierBindings(database);
    await bindings.bind(callId, SID, harness.carrier, { direction });
    await bindings.recordInstruction(callId, SID);
  }
  const call: TestCall = {
    callId,
    accountId: account._id,
    now,
    sleep: (ms) => environment.sleep(ms),
    answer: async () => {
      await recordInstruction();
      await gateway.signalCarrier(callId, { carrierSid: SID, kind: 'answered', at: await now() }, requestId());
    },
    startStream: async () => {
      const at = await now();
      await harness.results.begin({
        callId,
        streamId: sidOf('MZ', 1),
        carrierSid: SID,
        engine: 'test',
        startedAt: new Date(at),
      });
      await gateway.signalMedia(callId, { kind: 'started', at, carrierSid: SID }, requestId());
    },
    endStream: async (reason = 'carrier_stop', agentAudioPlayed = true) => {
      const at = await now();
      await harness.results.finish({
        callId,
        streamId: sidOf('MZ', 1),
        carrierSid: SID,
        engine: 'test',
        startedAt: new Date(at),
        endedAt: new Date(at),
        endReason: reason,
        agentAudioPlayed,
        turns: [{ speaker: 'agent', text: 'Hello canary.', startMs: 0, endMs: 900 }],
        summary: 'They spoke.',
        outputParameters: '{"name":null}',
        hasRecording: false,
      });
      await gateway.signalMedia(callId, { kind: 'ended', at, carrierSid: SID, reason, agentAudioPlayed }, requestId());
    },
    reconnect: async (after, facts = {}) =>
      gateway.reconnect(
        callId,
        { carrierSid: SID, at: await now(), agentAudioPlayed: true, ...facts },
        `${SID}:${after}`,
        Date.now() + 50_000,
      ),
    giveUp: async (after) => {
      const last = after === undefined ? {} : { after };
      const signal = { kind: 'given_up', at: await now(), carrierSid: SID, reason: 'media_failed', ...last } as const;
      await gateway.signalMedia(callId, signal, requestId());
    },
    end: async (status, more = {}) => {
      if (status === 'completed') await recordInstruction();
      const signal = { carrierSid: SID, kind: 'ended' as const, at: await now(), status, ...more };
      await gateway.signalCarrier(callId, signal, requestId());
    },
    closedAt: async () => {
      const { closeTime } = await environment.client.workflow.getHandle(callId).describe();
      return closeTime?.getTime() ?? Number.NaN;
    },
    result: () => environment.client.workflow.getHandle<(input: CallInput) => Promise<CallResult>>(callId).result(),
    stored: () => database.calls.findById(callId).lean() as never,
    balance: () => harness.ledger.balance(ledgerId),
  };
  harness.lastCallId = callId;
  return { answer, call };
}

/**
 * Returns how many concurrency slots the account of the last call uses, and whether that call has released its slot.
 */
export async function lastLease({ database, lastCallId }: Harness): Promise<{ taken: number; released: boolean }> {
  const document = await database.leases.findOne({ [`leases.${lastCallId}`]: { $exists: true } }).lean();
  return { taken: document?.count ?? Number.NaN, released: document?.leases[lastCallId]?.releasedAt !== undefined };
}

/** A webhook receiver on loopback that responds with `statuses`, then with 200. */
export async function startReceiver(statuses: number[] = []) {
  const bodies: string[] = [];
  const headers: IncomingMessage['headers'][] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      bodies.push(body);
      headers.push(request.headers);
      response.writeHead(statuses.shift() ?? 200).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    bodies,
    headers,
    close: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

export type { CallGateway };
