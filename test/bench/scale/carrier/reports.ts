import type { Client } from '@temporalio/client';
import { Pool } from 'undici';
import { MEDIA_SIGNAL, type MediaSignal } from '../../../../src/kernel/call-signals.js';
import { sign } from '../../../../src/telephony/twilio/signature.js';
import type { SentCallback } from './protocol.js';

/** A call as the stub knows it. */
export interface StubCall {
  callId: string;
  carrierSid: string;
  statusUrl: string;
  answeredAt?: number;
  endSentAt?: number;
  /** The duration that the carrier reports, in whole seconds. */
  seconds?: number;
}

const CONNECTIONS = 64;
/** As many repeats as the real carrier makes of a callback that got a server error. */
const REPEATS = 3;

/** Creates the functions that report a call's answer and end: to the API as the carrier, to the workflow as the media server. */
export function createReports(p: { carrierAccountId: string; authToken: string; client: Client }) {
  let pool: Pool | undefined;

  async function sendCallback(call: StubCall, fields: Record<string, string>): Promise<SentCallback> {
    const { callId, carrierSid, statusUrl } = call;
    const url = new URL(statusUrl.split('#')[0] ?? '');
    pool ??= new Pool(url.origin, { connections: CONNECTIONS });
    const params = { AccountSid: p.carrierAccountId, CallSid: carrierSid, ...fields };
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'x-twilio-signature': sign({ authToken: p.authToken, url: url.href, params }),
    };
    const sentAt = Date.now();
    const began = performance.now();
    for (let attempt = 0; ; attempt += 1) {
      const body = new URLSearchParams(params).toString();
      const response = await pool.request({ method: 'POST', path: url.pathname, headers, body });
      await response.body.dump();
      if (response.statusCode === 200) return { callId, sentAt, ms: performance.now() - began };
      if (response.statusCode < 500 || attempt === REPEATS)
        throw new Error(`status callback of ${callId}: ${response.statusCode}`);
    }
  }

  async function signalMedia({ callId, carrierSid }: StubCall, signal: Omit<MediaSignal, 'carrierSid'>): Promise<void> {
    await p.client.workflow.getHandle(callId).signal(MEDIA_SIGNAL, { ...signal, carrierSid });
  }

  return {
    async answer(call: StubCall): Promise<SentCallback> {
      const now = Date.now();
      call.answeredAt = now;
      const sent = await sendCallback(call, {
        CallStatus: 'in-progress',
        Timestamp: rfc2822(now),
        SequenceNumber: '1',
      });
      await signalMedia(call, { kind: 'started', at: now });
      return sent;
    },

    async end(call: StubCall): Promise<SentCallback> {
      const now = Date.now();
      const { answeredAt } = call;
      if (answeredAt === undefined) {
        call.endSentAt = now;
        return sendCallback(call, { CallStatus: 'no-answer', Timestamp: rfc2822(now), SequenceNumber: '1' });
      }
      await signalMedia(call, { kind: 'ended', at: now, reason: 'carrier_stop', agentAudioPlayed: true });
      call.seconds = Math.max(1, Math.ceil((now - answeredAt) / 1_000));
      call.endSentAt = Date.now();
      return sendCallback(call, {
        CallStatus: 'completed',
        Timestamp: rfc2822(now),
        SequenceNumber: '2',
        CallDuration: String(call.seconds),
      });
    },
  };
}

function rfc2822(ms: number): string {
  return new Date(ms).toUTCString().replace('GMT', '+0000');
}
