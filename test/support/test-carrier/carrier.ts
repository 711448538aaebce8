import { createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto';
import type { EndReason } from '../../../src/kernel/call-state.js';
import { UnsafeCarrierRequest } from '../../../src/telephony/errors.js';
import type { CallInstruction } from '../../../src/telephony/callbacks.js';
import type { CarrierApi, CarrierCall, CarrierFactory, DialOutcome } from '../../../src/telephony/port.js';
import { createTestCodec, UUID } from './codec';
import { TEST_CONTRACT } from './routes';

const TIMEOUT_MS = 5_000;

const ACCOUNT = 'Ask the carrier about the account.';
/** The outcomes of requests to dial that the carrier rejects, by its error codes. */
const REJECTIONS: Readonly<Record<string, DialOutcome>> = {
  bad_token: rejectionOf('bad_token', 'internal_error', 'The carrier did not accept the token.', ACCOUNT),
  caller_not_allowed: rejectionOf(
    'caller_not_allowed',
    'internal_error',
    'The carrier does not allow calls from this number.',
    ACCOUNT,
  ),
  bad_number: rejectionOf('bad_number', 'invalid_number', 'There is no such number.'),
  slow_down: { outcome: 'throttled' },
  all_lines_busy: {
    outcome: 'throttled',
    afterMs: 2_000,
    rejection: { code: 'all_lines_busy', reason: 'All lines of the account are busy.', remedy: 'Buy more lines.' },
  },
};

/** A call as this carrier's API returns it. */
export interface TestCall {
  id: string;
  direction: 'in' | 'out';
  from: string;
  to: string;
  state: 'queued' | 'ringing' | 'talking' | 'over';
  outcome?: 'completed' | 'busy' | 'no-answer' | 'failed' | 'canceled';
  created_ms: number;
  answered_ms?: number;
  ended_ms?: number;
  max_seconds: number;
}

export type Action =
  | { do: 'connect'; url: string; attempt: number; after: string }
  | { do: 'say'; text: string }
  | { do: 'call'; number: string; show: string; max_seconds: number; events: string; after: string }
  | { do: 'hang_up' }
  | { do: 'decline' };

/** A path segment of 32 bytes in base64url. */
const STREAM_TOKEN = /^\/[\w-]{43}$/;

/** Returns the last path segment of a stream URL: an HMAC that needs the account's secret. */
export function streamToken(secret: string, streamUrl: string): string {
  return createHmac('sha256', secret).update(streamUrl).digest('base64url');
}

/**
 * Creates a carrier that differs from Twilio wherever the interface of carriers allows it.
 * @param publicKey the Ed25519 key that verifies the carrier's signatures
 */
export function createTestCarrierFactory(publicKey: string): CarrierFactory {
  const key = createPublicKey(publicKey);
  return (deps) => {
    const { account, publicBaseUrl, streamUrl } = deps;
    const callUrl = (callId: string) => `${publicBaseUrl}/carriers/test/calls/${encodeURIComponent(callId)}`;
    return {
      ...createTestApi(deps),
      contract: TEST_CONTRACT,
      mayBeSigned: (headers) => typeof headers['x-test-signature'] === 'string',
      isSigned({ url, headers, body }) {
        const signature = headers['x-test-signature'];
        if (typeof signature !== 'string' || headers['x-test-account'] !== account.carrierAccountId) return false;
        return verify(null, Buffer.concat([Buffer.from(`${url}\n`), body]), key, Buffer.from(signature, 'base64'));
      },
      mayAdmitStream: ({ rest }) => STREAM_TOKEN.test(rest),
      admitsStream({ url, rest }) {
        const [given, expected] = [Buffer.from(rest), Buffer.from(`/${streamToken(account.authToken, url)}`)];
        return given.length === expected.length && timingSafeEqual(given, expected);
      },
      render(instruction) {
        const actions = actionsOf(instruction, { callUrl, streamUrl, secret: account.authToken });
        return { contentType: 'application/json; charset=utf-8', body: JSON.stringify({ actions }) };
      },
      createCodec: createTestCodec,
    };
  };
}

function actionsOf(
  instruction: CallInstruction,
  p: { callUrl: (callId: string) => string; streamUrl: string; secret: string },
): Action[] {
  switch (instruction.kind) {
    case 'stream': {
      const { callId, streamNumber: attempt = 0 } = instruction;
      const url = `${p.streamUrl}/${callId}`;
      const after = `${p.callUrl(callId)}/next?stream=${attempt}`;
      return [{ do: 'connect', url: `${url}/${streamToken(p.secret, url)}`, attempt, after }];
    }
    case 'transfer': {
      const { callId, to: number, callerId: show, timeLimitSeconds } = instruction;
      const [events, after] = [`${p.callUrl(callId)}/events`, `${p.callUrl(callId)}/next`];
      return [{ do: 'call', number, show, max_seconds: timeLimitSeconds, events, after }];
    }
    case 'apology':
      return [{ do: 'say', text: instruction.text }, { do: 'hang_up' }];
    case 'hang_up':
      return [{ do: 'hang_up' }];
    case 'reject':
      return [{ do: 'decline' }];
  }
}

function rejectionOf(code: string, endReason: EndReason, reason: string, remedy?: string): DialOutcome {
  return { outcome: 'refused', endReason, rejection: { code, reason, ...(remedy === undefined ? {} : { remedy }) } };
}

function createTestApi({ account, publicBaseUrl, timeoutMs }: Parameters<CarrierFactory>[0]): CarrierApi {
  const isCallId = (text: string) => UUID.test(text);

  async function ask(method: string, path: string, body?: object): Promise<Response> {
    return fetch(`${account.baseUrl}/v1/calls${path}`, {
      method,
      headers: { authorization: `Bearer ${account.authToken}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs ?? TIMEOUT_MS),
    });
  }

  async function dial(body: object): Promise<DialOutcome> {
    try {
      const answer = await ask('POST', '', body);
      if (answer.status >= 500) return { outcome: 'ambiguous' };
      if (!answer.ok) {
        const { error } = (await answer.json()) as { error: string };
        return REJECTIONS[error] ?? { outcome: 'refused', endReason: 'carrier_failed' };
      }
      const { id } = (await answer.json()) as { id: string };
      return isCallId(id) ? { outcome: 'accepted', carrierSid: id } : { outcome: 'ambiguous' };
    } catch (error) {
      const { cause } = error as { cause?: { code?: string } };
      return { outcome: cause?.code === 'ECONNREFUSED' ? 'unreachable' : 'ambiguous' };
    }
  }

  function known(carrierSid: string): string {
    if (!isCallId(carrierSid)) throw new UnsafeCarrierRequest();
    return `/${carrierSid}`;
  }

  return {
    kind: account.kind,
    capabilities: { canChangeTimeLimit: false },
    isCallId,
    dial({ callId, to, from, ringTimeoutSeconds, timeLimitSeconds, machineDetection }) {
      const url = `${publicBaseUrl}/carriers/test/calls/${encodeURIComponent(callId)}`;
      return dial({
        to,
        from,
        answer: `${url}/answer`,
        events: `${url}/events`,
        ring_seconds: ringTimeoutSeconds,
        max_seconds: timeLimitSeconds,
        listen: machineDetection !== undefined,
      });
    },
    async hangUp(carrierSid) {
      const answer = await ask('POST', `${known(carrierSid)}/end`);
      if (!answer.ok && answer.status !== 404) throw new Error(`The carrier answered ${answer.status}.`);
    },
    async limitTo() {
      throw new UnsafeCarrierRequest();
    },
    async fetch(carrierSid) {
      const answer = await ask('GET', known(carrierSid));
      if (answer.status === 404) return undefined;
      if (!answer.ok) throw new Error(`The carrier answered ${answer.status}.`);
      return toCarrierCall((await answer.json()) as TestCall);
    },
    async findPlaced({ to, from, since }) {
      const answer = await ask('GET', `?${new URLSearchParams({ to, from, since: String(since) }).toString()}`);
      if (!answer.ok) throw new Error(`The carrier answered ${answer.status}.`);
      return ((await answer.json()) as TestCall[]).map(toCarrierCall);
    },
  };
}

function toCarrierCall(call: TestCall): CarrierCall {
  const {
    id: carrierSid,
    state,
    outcome = 'completed',
    created_ms: createdAt,
    answered_ms: answeredAt,
    ended_ms: endedAt,
  } = call;
  const status = state === 'over' ? outcome : state === 'talking' ? 'in-progress' : state;
  return {
    carrierSid,
    direction: call.direction === 'in' ? 'inbound' : 'outbound',
    to: call.to,
    status,
    createdAt,
    ...(answeredAt === undefined ? {} : { startedAt: createdAt }),
    ...(endedAt === undefined ? {} : { endedAt, durationSeconds: secondsOf(call) }),
  };
}

export function secondsOf({ answered_ms: answeredAt, ended_ms: endedAt }: TestCall): number {
  return answeredAt === undefined || endedAt === undefined ? 0 : Math.ceil((endedAt - answeredAt) / 1_000);
}
