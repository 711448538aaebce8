import { PROVIDER_STAGES } from '../../../kernel/conversation/provider-stages.js';
import { LLM_PROVIDERS, STT_PROVIDERS, TTS_PROVIDERS } from '../../config/engines/engine-providers.js';
import type { MeasurementName } from '../measurements.js';
import { createCounter, createGauge, createHistogram, type Recorder } from './instruments.js';

/** Upper bounds in seconds. 5 and 60 s are limits of service objectives, 20 ms is the length of a frame. */
const STEP_BUCKETS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 3_600, 86_400];
const REPLY_BUCKETS = [0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10];
const REQUEST_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const LATENESS_BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1];

const STAGES: Readonly<Record<string, string>> = PROVIDER_STAGES;

/** The providers of each part, by the names under which their failures are reported. */
const PROVIDERS_OF_PARTS = {
  recogniser: Object.keys(STT_PROVIDERS),
  model: Object.keys(LLM_PROVIDERS),
  voice: Object.keys(TTS_PROVIDERS),
  realtime: ['openai'],
};

type OfCalls = Extract<
  MeasurementName,
  | 'placingDecision'
  | 'callBegun'
  | 'inboundRejected'
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
  placingDecision: (registry) => {
    const decisions = createCounter(registry, {
      name: 'placing_decisions_total',
      help: 'Decisions about requests for calls to phones and in browsers',
      labels: ['mode', 'outcome'],
    });
    // The series exist before the first decision, so that Prometheus sees their increase.
    for (const outcome of ['accepted', 'failed'] as const) decisions.inc({ mode: 'live', outcome }, 0);
    return ({ mode, outcome }) => decisions.inc({ mode, outcome });
  },

  callBegun: (registry) => {
    const accepted = createCounter(registry, {
      name: 'calls_accepted_total',
      help: 'Calls that were accepted',
      labels: ['mode', 'direction'],
    });
    return ({ mode, direction }) => accepted.inc({ mode, direction });
  },

  inboundRejected: (registry) => {
    const rejected = createCounter(registry, {
      name: 'inbound_calls_rejected_total',
      help: 'Calls from the carrier that were not taken',
      labels: ['mode', 'cause'],
    });
    // The series exists before the first failure, so that Prometheus sees its increase.
    rejected.inc({ mode: 'live', cause: 'failure' }, 0);
    return ({ mode, cause }) => rejected.inc({ mode, cause: cause.toLowerCase() });
  },

  callDialed: (registry) => {
    const times = createHistogram(registry, {
      name: 'call_time_to_dial_seconds',
      help: 'Time from the acceptance of an outbound call until the carrier dials it, so that its phone rings',
      labels: ['mode'],
      buckets: STEP_BUCKETS,
    });
    // The series of objectives exist before the first call, so that Prometheus sees the increase.
    times.zero({ mode: 'live' });
    return ({ mode, seconds }) => times.observe({ mode }, seconds);
  },

  callEnded: (registry) => {
    const ended = createCounter(registry, {
      name: 'calls_ended_total',
      help: 'Calls that have ended',
      labels: ['mode', 'line', 'direction', 'status', 'end_reason'],
    });
    // The series of our failures exist before the first one, so that Prometheus sees their increase.
    for (const direction of ['outbound', 'inbound']) {
      for (const end_reason of ['media_failed', 'internal_error', 'expired', 'carrier_unreachable']) {
        for (const status of ['FAILED', 'COMPLETED'])
          ended.inc({ mode: 'live', line: 'phone', direction, status, end_reason }, 0);
      }
    }
    return ({ endReason, ...labels }) => ended.inc({ ...labels, end_reason: endReason });
  },

  mediaStream: (registry) => {
    const help = 'Media streams of this process that have not ended';
    const streams = createGauge(registry, { name: 'media_streams', help });
    return ({ change }) => streams.inc(change);
  },

  frameLateness: (registry) => {
    const lateness = createHistogram(registry, {
      name: 'frame_lateness_seconds',
      help: 'How late frames of audio are sent: the latest one of every 20 ms',
      buckets: LATENESS_BUCKETS,
    });
    return ({ ms }) => lateness.observe(ms / 1_000);
  },

  nextStream: (registry) => {
    const asked = createCounter(registry, {
      name: 'next_streams_total',
      help: 'Calls that asked for another media stream, after a failure or because they are moved',
      labels: ['mode', 'line', 'cause', 'decision'],
    });
    // The series exist before the first loss, so that Prometheus sees their increase.
    for (const decision of ['stream', 'hang_up'])
      asked.inc({ mode: 'live', line: 'phone', cause: 'failure', decision }, 0);
    return (labels) => asked.inc(labels);
  },

  replyLatency: (registry) => {
    const latency = createHistogram(registry, {
      name: 'reply_latency_seconds',
      help: 'Time from the last word of a person to the first audio of the reply, in total and by stage',
      labels: ['mode', 'engine', 'stage'],
      buckets: REPLY_BUCKETS,
    });
    return ({ mode, engine, totalMs, parts }) => {
      latency.observe({ mode, engine, stage: 'total' }, totalMs / 1_000);
      for (const [part, ms] of Object.entries(parts))
        latency.observe({ mode, engine, stage: STAGES[part] ?? part }, ms / 1_000);
    };
  },

  providerFailure: (registry) => {
    const failures = createCounter(registry, {
      name: 'provider_failures_total',
      help: 'Failures of providers of speech and models',
      labels: ['mode', 'part', 'provider', 'blame'],
    });
    // The series exist before the first failure, so that Prometheus sees its increase.
    for (const [part, providers] of Object.entries(PROVIDERS_OF_PARTS)) {
      for (const provider of [...providers, 'unknown']) {
        for (const blame of ['provider', 'unclear']) failures.inc({ mode: 'live', part, provider, blame }, 0);
      }
    }
    return (labels) => failures.inc(labels);
  },

  providerSwitch: (registry) => {
    const switches = createCounter(registry, {
      name: 'provider_switches_total',
      help: 'Times when another provider of a stage took over',
      labels: ['stage', 'cause'],
    });
    for (const stage of ['realtime', ...Object.values(STAGES)]) {
      for (const cause of ['failed', 'skipped']) switches.inc({ stage, cause }, 0);
    }
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
      labels: ['mode'],
      buckets: STEP_BUCKETS,
    });
    delays.zero({ mode: 'live' });
    return ({ mode, seconds }) => delays.observe({ mode }, seconds);
  },

  carrierRequest: (registry) => {
    const requests = createHistogram(registry, {
      name: 'carrier_request_duration_seconds',
      help: 'Requests to the carrier',
      labels: ['mode', 'carrier', 'account', 'operation', 'outcome'],
      buckets: REQUEST_BUCKETS,
    });
    return ({ seconds, ...labels }) => requests.observe(labels, seconds);
  },
};
