import { channel, type Channel, type ChannelListener } from 'node:diagnostics_channel';
import type { CallStatus, Direction, EndReason } from '../../kernel/call-state.js';
import type { ErrorCode } from '../../kernel/errors.js';
import type { Mode } from '../../kernel/ids.js';

/** The kind of a call's line. A browser loses its connection for reasons that are not ours, such as a weak network. */
export type LineKind = 'phone' | 'browser';

/**
 * How a request for a call was decided. `repeated`: it got the stored response of an earlier request. `rejected`: for a
 * reason of its sender. `frozen`: its account is frozen. `failed`: for a reason of ours.
 */
export type PlacingOutcome = 'accepted' | 'repeated' | 'rejected' | 'frozen' | 'failed';

/** The names of what optimistic updates change, mostly those of collections. */
export const CONTENDED_NAMES = [
  'account_attempts',
  'accounts',
  'agents',
  'calls',
  'destination_counts',
  'dial_pacing',
  'leases',
  'ledger_accounts',
  'migration lock',
  'server_clock',
  'unanswered_attempts',
] as const;
export type ContendedName = (typeof CONTENDED_NAMES)[number];

export const DATABASE_FAILURE_REASONS = [
  'lost',
  'no_free_connection',
  'not_connected',
  'pool_cleared',
  'pool_closed',
] as const;
export type DatabaseFailureReason = (typeof DATABASE_FAILURE_REASONS)[number];

/**
 * Reports of parts of the service about their work, by name. Every text is one of few values, because metrics have a
 * series for each: never an id, an address, a phone number or a text of a customer.
 */
export interface Measurements {
  /**
   * `mode`: `none` if the sender has no mode, or is not known. `cause`: `frozen` if it got 503 because its account is
   * frozen, which is no failure.
   */
  httpRequest: {
    method: string;
    route: string;
    status: number;
    mode: Mode | 'none';
    cause?: 'frozen';
    seconds: number;
  };
  /** The decision about a request for a call to a phone or in the browser. */
  placingDecision: { mode: Mode; outcome: PlacingOutcome };
  callBegun: { mode: Mode; direction: Direction };
  /**
   * An inbound call was rejected: because of a failure of ours, before its sender was verified, because the account is
   * frozen, or as the code says.
   */
  inboundRejected: { mode: Mode | 'none'; cause: 'failure' | 'unverified' | 'frozen' | ErrorCode };
  /**
   * The carrier has taken a call. `seconds`: from the acceptance of the call until its phone is about to ring, which the
   * carrier's queue may delay.
   */
  callDialed: { mode: Mode; seconds: number };
  callEnded: { mode: Mode; line: LineKind; direction: Direction; status: CallStatus; endReason: EndReason | 'none' };
  /** A media stream that began (1) or ended (-1). */
  mediaStream: { change: 1 | -1 };
  /** How late the latest frame of audio of 20 ms was sent. */
  frameLateness: { ms: number };
  /** A call lost its media stream, or it is moved to another process, and asked for the next stream. */
  nextStream: { mode: Mode; line: LineKind; cause: 'planned' | 'failure'; decision: string };
  /** From the end of the person's words to the first audio of the reply; `parts` divide the total. */
  replyLatency: { mode: Mode; engine: string; totalMs: number; parts: Readonly<Record<string, number>> };
  /** `blame`: `request` if the call caused it by its content, `unclear` if the provider does not say why. */
  providerFailure: { mode: Mode; part: string; provider: string; blame: 'provider' | 'request' | 'unclear' };
  /** Another provider of a stage takes over, because the one before failed, or failed in earlier calls. */
  providerSwitch: { stage: string; cause: 'failed' | 'skipped' };
  webhookAttempt: { outcome: string; seconds: number };
  /** `seconds`: from the end of the call until its webhook is ready to be sent. */
  webhookReady: { mode: Mode; seconds: number };
  carrierRequest: { mode: Mode; carrier: string; account: string; operation: string; outcome: string; seconds: number };
  /** A command had a connection to the database for this time. */
  databaseCommand: { seconds: number };
  /** A command waited for a connection, also if it got none. */
  databaseWait: { seconds: number };
  /**
   * `no_free_connection`, `not_connected` (the connection could not be opened) and `pool_closed`: a command got no
   * connection. `lost`: its connection broke, or the response took too long. `pool_cleared`: the server does not
   * respond, so all its connections are closed.
   */
  databaseFailure: { reason: DatabaseFailureReason };
  /** Whether the process serves its role. It does not while it starts, waits for a server or stops. */
  serving: { role: string; serving: boolean };
  /** Whether a server that this process needs responds. */
  dependency: { dependency: 'mongodb' | 'temporal'; up: boolean };
  /** The connections of a database client, read when metrics are. Reported each time one is opened. */
  databaseConnections: { open: () => number; inUse: () => number };
  /** An optimistic update that met other writers. */
  contention: { name: ContendedName; retries: number; gaveUp: boolean };
  /** A time for which the process blocked its event loop. */
  stall: { ms: number };
  /** Spans of traces that the collector did not take, or that found the queue full. */
  spansDropped: { cause: 'not_sent' | 'queue_full'; count: number };
  /** The event of a paid checkout credited an account, also if an earlier event had, or credited nothing. */
  payment: { outcome: 'credited' | 'ignored' };
  reconciliationFinding: { kind: string };
  brokenRecords: { count: number };
  recordingsDeleted: { count: number };
  /** A request to the object storage of recordings. `missing`: there is no such object. */
  objectRequest: { operation: string; outcome: 'ok' | 'missing' | 'failed'; seconds: number };
}

export type MeasurementName = keyof Measurements;

/** The channels by name. Node.js finds a channel only by its full name, which is too slow for each audio frame. */
const CHANNELS = new Map<MeasurementName, Channel>();

function channelOf(name: MeasurementName): Channel {
  const known = CHANNELS.get(name);
  if (known !== undefined) return known;
  const found = channel(`callwright:${name}`);
  CHANNELS.set(name, found);
  return found;
}

/** Reports to the observers in this process, if any. Costs little without one. */
export function report<Name extends MeasurementName>(name: Name, measurement: Measurements[Name]): void {
  channelOf(name).publish(measurement);
}

/** Whether a measurement has an observer. Ask before work that only an observer needs. */
export function isObserved(name: MeasurementName): boolean {
  return channelOf(name).hasSubscribers;
}

/** Observes a measurement in this process. @returns a function that ends this */
export function observe<Name extends MeasurementName>(
  name: Name,
  listener: (measurement: Measurements[Name]) => void,
): () => void {
  const onMessage: ChannelListener = (message) => listener(message as Measurements[Name]);
  const observed = channelOf(name);
  observed.subscribe(onMessage);
  return () => {
    observed.unsubscribe(onMessage);
  };
}
