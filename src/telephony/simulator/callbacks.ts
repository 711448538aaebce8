import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { isOver, type CarrierAnsweredBy, type RecordedEvent } from './call-progress.js';
import { addLog, durationSeconds, rfc2822, type CallRecord } from './call-record.js';
import type { WebhookTarget } from './instructions/source.js';
import type { CallbackFaults } from './scenario.js';
import type { WebhookResponse, CustomerClient } from './webhook-client.js';

/** The URL for status callbacks, and the events to report there. */
export interface CallbackSubscription extends WebhookTarget {
  events: readonly RecordedEvent[];
}

/** Sends the status callbacks of one call. */
export interface CallbackSender {
  reportStatus(event: RecordedEvent): void;
  /** Reports the result of answering machine detection. @param ms duration of the detection */
  reportAnsweredBy(target: WebhookTarget, answeredBy: CarrierAnsweredBy, ms: number): void;
}

/**
 * Sends the callbacks of one call. Like Twilio, it sends a callback without waiting for the response to the one before.
 * The scenario may copy, delay, reorder, drop or corrupt callbacks.
 */
export function createCallbackSender(deps: {
  call: CallRecord;
  subscription: CallbackSubscription | undefined;
  faults: CallbackFaults;
  webhooks: CustomerClient;
  /** Resolves when the end of the call may be reported. */
  endTurn: (account: CallRecord['account']) => Promise<void>;
  timeScale: number;
}): CallbackSender {
  const { call, subscription, faults } = deps;
  const statusToken = faults.wrongSignature ? 'not the token of this account' : call.account.authToken;
  const heldBack: Record<string, string>[] = [];
  let sequence = 0;

  async function deliver(target: WebhookTarget, params: Record<string, string>, authToken: string): Promise<void> {
    if (faults.delaySeconds > 0) await wait(faults.delaySeconds * 1_000 * deps.timeScale, undefined, { ref: false });
    await Promise.all(Array.from({ length: faults.copies }, () => deliverOnce(target, params, authToken)));
  }

  async function deliverOnce(target: WebhookTarget, params: Record<string, string>, authToken: string): Promise<void> {
    const delivery = deliveryOptions(target.url);
    const idempotencyToken = randomUUID();
    const deadline = performance.now() + delivery.totalTimeout;
    for (let attempt = 1; attempt <= delivery.retries + 1; attempt++) {
      const totalTimeout = Math.floor(deadline - performance.now());
      if (totalTimeout <= 0) return;
      const at = new Date().toISOString();
      const response = await deps.webhooks.send({
        ...target,
        ...delivery,
        totalTimeout,
        params,
        idempotencyToken,
        authToken,
      });
      addLog(call.requests, {
        at,
        purpose: 'callback',
        method: target.method,
        url: target.url,
        params,
        attempt,
        ms: response.ms,
        ...(response.ok ? { status: response.status } : { error: response.error }),
      });
      if (!isRetried(response, delivery.retryOn)) return;
    }
  }

  return {
    reportStatus(event) {
      if (subscription === undefined || !subscription.events.includes(event)) return;
      const params = { ...callbackParams(call, event, sequence++), ...faults.extraFields };
      if (faults.drop === 'all' || (faults.drop === 'final' && event === 'completed')) return;
      const isEnd = event === 'completed';
      if (faults.order === 'fired' && !isEnd) {
        void deliver(subscription, params, statusToken);
        return;
      }
      heldBack.push(params);
      if (!isEnd) return;
      void (async () => {
        await deps.endTurn(call.account);
        for (const late of heldBack.toReversed()) await deliver(subscription, late, statusToken);
      })();
    },
    reportAnsweredBy(target, answeredBy, ms) {
      if (faults.drop === 'all') return;
      const params = {
        CallSid: call.sid,
        AccountSid: call.account.carrierAccountId,
        AnsweredBy: answeredBy,
        MachineDetectionDuration: String(ms),
        ...faults.extraFields,
      };
      void deliver(target, params, call.account.authToken);
    },
  };
}

/** Returns the form fields that every request about a call contains. */
export function callFormFields(call: CallRecord): Record<string, string> {
  const geography = ['From', 'To', 'Caller', 'Called'].flatMap((who) => [
    [`${who}City`, ''],
    [`${who}State`, ''],
    [`${who}Zip`, ''],
    [`${who}Country`, 'US'],
  ]);
  return {
    CallSid: call.sid,
    AccountSid: call.account.carrierAccountId,
    From: call.from,
    To: call.to,
    Caller: call.from,
    Called: call.to,
    CallStatus: call.status,
    ApiVersion: '2010-04-01',
    Direction: call.direction,
    ...(call.parentCallSid === undefined ? {} : { ParentCallSid: call.parentCallSid }),
    ...(call.forwardedFrom === undefined ? {} : { ForwardedFrom: call.forwardedFrom }),
    ...Object.fromEntries(geography),
  };
}

function callbackParams(call: CallRecord, event: RecordedEvent, sequence: number): Record<string, string> {
  const seconds = durationSeconds(call);
  return {
    ...callFormFields(call),
    CallStatus: event === 'initiated' ? 'initiated' : call.status,
    Timestamp: rfc2822(Date.now()),
    CallbackSource: 'call-progress-events',
    SequenceNumber: String(sequence),
    ...(isOver(call)
      ? {
          CallDuration: String(seconds),
          Duration: String(Math.ceil(seconds / 60)),
          SipResponseCode: String(call.sipCode ?? 200),
          ...(call.answeredBy === undefined ? {} : { AnsweredBy: call.answeredBy }),
        }
      : {}),
  };
}

/** Reads Twilio's connection overrides in the fragment of a webhook URL: `#rc=3&rp=5xx,ct,rt`. */
function deliveryOptions(url: string) {
  const fragment = new URLSearchParams(url.split('#')[1] ?? '');
  const number = (key: string, standard: number, min: number, max: number) => {
    const value = Number(fragment.get(key) ?? standard);
    return Number.isFinite(value) ? Math.min(max, Math.max(min, value)) : standard;
  };
  return {
    connectTimeout: number('ct', 5_000, 100, 10_000),
    readTimeout: number('rt', 15_000, 100, 15_000),
    totalTimeout: number('tt', 15_000, 100, 15_000),
    retries: number('rc', 1, 0, 5),
    retryOn: new Set((fragment.get('rp') ?? 'ct').split(',')),
  };
}

function isRetried(response: WebhookResponse, retryOn: Set<string>): boolean {
  if (!response.ok) return retryOn.has(response.cause) || retryOn.has('all');
  if (response.status < 400) return false;
  return retryOn.has(response.status < 500 ? '4xx' : '5xx') || retryOn.has('all');
}
