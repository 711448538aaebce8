import { z } from 'zod';
import { decodeMulaw } from '../../../voice/audio/mulaw.js';
import { pcmBytes, wavHeader } from '../../../voice/audio/wav.js';
import type { Mode } from '../../../kernel/ids.js';
import { DEFAULT_ACCOUNT, type CarrierAccount, type CarrierAccounts } from '../../../platform/config/config.js';
import { isOver } from '../call-progress.js';
import { durationSeconds, type CallRecord } from '../call-record.js';
import type { Credentials } from './credentials.js';
import type { Exchange } from '../exchange.js';
import type { Faults } from '../faults.js';
import type { Scenarios } from '../scenario.js';

/** A response of the control API. */
export interface ControlResponse {
  status: number;
  contentType: string;
  body: string | Buffer;
}

/** The API by which demos and tests control the simulated carrier. By default, production has none. */
export interface ControlApi {
  handle(request: { method: string; url: URL; contentType: string; body: string }): ControlResponse;
}

const httpUrl = z.url({ protocol: /^https?$/ });

const inboundRequest = z.strictObject({
  to: z.string().min(1),
  from: z.string().min(1),
  forwarded_from: z.string().min(1).optional(),
  agent_id: z.string().optional(),
  /** Voice webhook URL of the called number. Default: the service's route. */
  url: httpUrl.optional(),
  fallback_url: httpUrl.optional(),
  /** The caller's scenario: its two digits or its name. */
  script: z.string().default('00'),
  mode: z.enum(['live', 'test']).default('live'),
  /** Name of the account of live calls whose number is called. */
  account: z.string().default(DEFAULT_ACCOUNT),
});

const faultRequest = z.strictObject({ fault: z.string(), count: z.number().int().min(1).max(1_000).default(1) });

const apiKeyRequest = z.strictObject({
  mode: z.enum(['live', 'test']).default('live'),
  account: z.string().default(DEFAULT_ACCOUNT),
});

export function createControlApi(deps: {
  accounts: Pick<CarrierAccounts, 'live' | 'test' | 'further'>;
  credentials: Credentials;
  publicBaseUrl: string;
  exchange: Exchange;
  faults: Faults;
  scenarios: Scenarios;
}): ControlApi {
  /** Finds the account; a text says what is wrong. */
  function accountOf({ mode, account: name }: { mode: Mode; account: string }): CarrierAccount | string {
    const { live, test, further } = deps.accounts;
    const found = mode === 'test' ? test : [live, ...further].find((each) => each.name === name);
    if (found === undefined) return `The simulated carrier has no account ${name} of live calls.`;
    return found.kind === 'simulator' ? found : `The ${mode} carrier is not the simulated carrier.`;
  }

  function inbound(body: unknown): ControlResponse {
    const parsed = inboundRequest.safeParse(body);
    if (!parsed.success) return json(400, { error: z.prettifyError(parsed.error) });
    const { to, from, forwarded_from: forwardedFrom, agent_id: agentId } = parsed.data;
    const account = accountOf(parsed.data);
    if (typeof account === 'string') return json(400, { error: account });
    const scenario = deps.scenarios.find(parsed.data.script);
    if (scenario === undefined)
      return json(400, {
        error: `script must be the two digits or the name of a scenario, not ${parsed.data.script}.`,
      });
    const call = deps.exchange.startInbound(
      { account, to, from, ...(forwardedFrom === undefined ? {} : { forwardedFrom }) },
      {
        source: {
          kind: 'url',
          target: { url: parsed.data.url ?? `${deps.publicBaseUrl}/inbound_call`, method: 'POST' },
          ...(agentId === undefined ? {} : { extra: { agent_id: agentId } }),
          ...(parsed.data.fallback_url === undefined
            ? {}
            : { fallback: { url: parsed.data.fallback_url, method: 'POST' as const } }),
        },
        // The status callback of a number, as opposed to one of a call, only reports `completed`.
        callbacks: { url: `${deps.publicBaseUrl}/carrier/status`, method: 'POST', events: ['completed'] },
        ringSeconds: 60,
      },
      deps.faults.onArrive(scenario),
    );
    return json(201, summary(call));
  }

  function inject(body: unknown): ControlResponse {
    const parsed = faultRequest.safeParse(body);
    if (!parsed.success) return json(400, { error: z.prettifyError(parsed.error) });
    const { fault, count } = parsed.data;
    if (deps.faults.inject(fault, count)) return json(200, { pending: deps.faults.pending() });
    const names = deps.scenarios.all().map(({ name }) => name);
    return json(400, { error: `fault must be one of these scenarios: ${names.join(', ')}.` });
  }

  function createKey(body: unknown): ControlResponse {
    const parsed = apiKeyRequest.safeParse(body);
    if (!parsed.success) return json(400, { error: z.prettifyError(parsed.error) });
    const account = accountOf(parsed.data);
    if (typeof account === 'string') return json(400, { error: account });
    return json(201, deps.credentials.createKey(account));
  }

  function read(pathname: string): ControlResponse {
    if (pathname === '/simulator/calls') return json(200, { calls: deps.exchange.list().map(summary) });
    const [, sid, heard] = /^\/simulator\/calls\/(CA[0-9a-f]{32})(\/heard\.wav)?$/.exec(pathname) ?? [];
    const live = sid === undefined ? undefined : deps.exchange.find(sid);
    if (live === undefined) return json(404, { error: 'Call or path not found.' });
    if (heard !== undefined) return { status: 200, contentType: 'audio/wav', body: wav(live.line.recordedAudio()) };
    return json(200, detail(live.call));
  }

  return {
    handle({ method, url, contentType, body }) {
      if (method === 'GET') return read(url.pathname);
      if (method !== 'POST') return json(405, { error: 'The method must be GET or POST.' });
      // Require JSON. A web page can send it to another origin only if the browser's preflight request is answered, and
      // this API answers none.
      if (!/^application\/json\b/.test(contentType))
        return json(415, { error: 'The content type must be application/json.' });
      const parsed = parseJson(body);
      if (url.pathname === '/simulator/inbound') return inbound(parsed);
      if (url.pathname === '/simulator/faults') return inject(parsed);
      if (url.pathname === '/simulator/api-keys') return createKey(parsed);
      const [, keySid] = /^\/simulator\/api-keys\/(SK[0-9a-f]{32})\/revoke$/.exec(url.pathname) ?? [];
      if (keySid !== undefined && deps.credentials.revokeKey(keySid)) return json(200, { sid: keySid });
      return json(404, { error: 'Path not found.' });
    },
  };
}

function json(status: number, body: unknown): ControlResponse {
  return { status, contentType: 'application/json', body: JSON.stringify(body) };
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function iso(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

function summary(call: CallRecord) {
  return {
    sid: call.sid,
    account_sid: call.account.carrierAccountId,
    direction: call.direction,
    parent_call_sid: call.parentCallSid ?? null,
    to: call.to,
    from: call.from,
    forwarded_from: call.forwardedFrom ?? null,
    scenario: call.scenario,
    status: call.status,
    created_at: iso(call.createdAt),
    ringing_at: iso(call.startedAt),
    answered_at: iso(call.answeredAt),
    ended_at: iso(call.endedAt),
    duration_seconds: isOver(call) ? durationSeconds(call) : null,
    sip_code: call.sipCode ?? null,
    time_limit_seconds: call.timeLimitSeconds ?? null,
    answered_by: call.answeredBy ?? null,
    errors: call.errors,
  };
}

/** Everything recorded about a call, including its requests, TwiML and media streams. */
function detail(call: CallRecord) {
  return {
    ...summary(call),
    requests: call.requests.filter(({ purpose }) => purpose !== 'callback'),
    callbacks: call.requests.filter(({ purpose }) => purpose === 'callback'),
    twiml: call.twiml,
    streams: call.streams,
    dials: call.dials,
    script: call.script,
  };
}

function wav(mulaw: Buffer): Buffer {
  const data = pcmBytes(decodeMulaw(mulaw));
  return Buffer.concat([wavHeader({ sampleRate: 8_000, channels: 1, dataBytes: data.length }), data]);
}
