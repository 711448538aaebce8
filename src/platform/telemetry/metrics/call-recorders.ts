import { PROVIDER_STAGES } from '../../../kernel/conversation/provider-stages.js';
import type { MeasurementName } from '../measurements.js';
import { createCounter, createGauge, createHistogram, type Recorder } from './instruments.js';

/** Upper bounds in seconds. 5 and 60 s are limits of service objectives, 20 ms is the length of a frame. */
const STEP_BUCKETS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 3_600, 86_400];
const REPLY_BUCKETS = [0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10];
const REQUEST_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const LATENESS_BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1];

const STAGES: Readonly<Record<string, string>> = PROVIDER_STAGES;

type OfCalls = Extract<
  MeasurementName,
  | 'callBegun'
  | 'callDialed'
  | 'callEnded'
  | 'mediaStream'
  | 'frameLateness'
  | 'nextStream'
  | 'replyLatency'
  | 'providerFailure'
  | 'providerSwitch'
  | 'webhookAttempt'
  | 'webhookReady'
  | 'carrierRequest'
>;

/** The metrics of calls, their conversations, carriers and webhooks. */
export const CALL_RECORDERS: { readonly [Name in OfCalls]: Recorder<Name> } = {
  callBegun: (registry) => {
    const accepted = createCounter(registry, {
      name: 'calls_accepted_total',
      help: 'Calls that were accepted',
      labels: ['mode', 'direction'],
    });
    return ({ mode, direction }) => accepted.inc({ mode, direction });
  },

  callDialed: (registry) => {
    const times = createHistogram(registry, {
      name: 'call_time_to_dial_seconds',
      help: 'Time from the acceptance of an outbound call until the carrier takes it, so that its phone rings',
      labels: ['mode'],
      buckets: STEP_BUCKETS,
    });
    return ({ mode, seconds }) => times.observe({ mode }, seconds);
  },

  callEnded: (registry) => {
    const ended = createCounter(registry, {
      name: 'calls_ended_total',
      help: 'Calls that have ended',
      labels: ['mode', 'direction', 'status', 'end_reason'],
    });
    return ({ mode, direction, status, endReason }) => ended.inc({ mode, direction, status, end_reason: endReason });
  },

  mediaStream: (registry) => {
    const help = 'Media streams of this process that have not ended';
    const streams = createGauge(registry, { name: 'media_streams', help });
    return ({ change }) => streams.inc(change);
  },

  frameLateness: (registry) => {
    const lateness = createHistogram(registry, {
      name: 'frame_lateness_seconds',
      help: 'How late frames of audio are sent; those due in the same millisecond count once',
      buckets: LATENESS_BUCKETS,
    });
    return ({ ms }) => lateness.observe(ms / 1_000);
  },

  nextStream: (registry) => {
    const asked = createCounter(registry, {
      name: 'next_streams_total',
      help: 'Calls that asked for another media stream, after a failure or because they are moved',
      labels: ['cause', 'decision'],
    });
    return ({ cause, decision }) => asked.inc({ cause, decision });
  },

  replyLatency: (registry) => {
    const latency = createHistogram(registry, {
      name: 'reply_latency_seconds',
      help: 'Time from the last word of a person to the first audio of the reply, in total and by stage',
      labels: ['engine', 'stage'],
      buckets: REPLY_BUCKETS,
    });
    return ({ engine, totalMs, parts }) => {
      latency.observe({ engine, stage: 'total' }, totalMs / 1_000);
      for (const [part, ms] of Object.entries(parts))
        latency.observe({ engine, stage: STAGES[part] ?? part }, ms / 1_000);
    };
  },

  providerFailure: (registry) => {
    const failures = createCounter(registry, {
      name: 'provider_failures_total',
      help: 'Failures of providers of speech and models',
      labels: ['part', 'provider'],
    });
    return ({ part, provider }) => failures.inc({ part, provider });
  },

  providerSwitch: (registry) => {
    const switches = createCounter(registry, {
      name: 'provider_switches_total',
      help: 'Times when another provider of a stage took over',
      labels: ['stage', 'cause'],
    });
    return ({ stage, cause }) => switches.inc({ stage, cause });
  },

  webhookAttempt: (registry) => {
    const attempts = createHistogram(registry, {
      name: 'webhook_attempt_duration_seconds',
      help: 'Attempts to deliver webhooks',
      labels: ['outcome'],
      buckets: REQUEST_BUCKETS,
    });
    return ({ outcome, seconds }) => attempts.observe({ outcome }, seconds);
  },

  webhookReady: (registry) => {
    const delays = createHistogram(registry, {
      name: 'webhook_ready_delay_seconds',
      help: 'Time from the end of a call until its webhook is ready to be sent',
      buckets: STEP_BUCKETS,
    });
    return ({ seconds }) => delays.observe(seconds);
  },

  carrierRequest: (registry) => {
    const requests = createHistogram(registry, {
      name: 'carrier_request_duration_seconds',
      help: 'Requests to the carrier',
      labels: ['carrier', 'operation', 'outcome'],
      buckets: REQUEST_BUCKETS,
    });
    return ({ carrier, operation, outcome, seconds }) => requests.observe({ carrier, operation, outcome }, seconds);
  },
};
