import { randomBytes } from 'node:crypto';
import type { Mode } from '../../src/kernel/ids.js';
import { parseConfig, type Config } from '../../src/platform/config/config.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import type { CallInstruction, Markup } from '../../src/telephony/callbacks.js';
import { createSimulator } from '../../src/telephony/simulator/server.js';
import { parseTwiml, type TwimlElement } from '../../src/telephony/simulator/instructions/twiml.js';
import { sign, type SignedParams } from '../../src/telephony/twilio/signature.js';
import type { MediaEvent } from '../../src/telephony/media.js';
import type { CallReport, CarrierDouble, CarrierServer, Ports, SignedRequest } from './carrier-contract/double';
import { newSid } from './sids';

/** The scripted numbers of the simulated carrier, without the two digits that choose the script. */
const SCRIPTED = '+120255501';

const NUMBERS: CarrierDouble['numbers'] = {
  person: `${SCRIPTED}00`,
  hangsUp: `${SCRIPTED}06`,
  losesStream: `${SCRIPTED}40`,
  busy: `${SCRIPTED}01`,
  unanswered: `${SCRIPTED}02`,
};

const DIAL_FAULTS: CarrierDouble['dialFaults'] = {
  'wrong credentials': `${SCRIPTED}36`,
  'a caller or callee that the account may not use': `${SCRIPTED}35`,
  'a number that does not exist': '+15005550001',
  'too many requests': `${SCRIPTED}31`,
  'too many calls': `${SCRIPTED}34`,
  'a server error': `${SCRIPTED}30`,
  'a lost response': `${SCRIPTED}32`,
  'no response': `${SCRIPTED}33`,
};

/**
 * Starts Twilio's side for the contract suite: the simulated carrier, which the service's configuration treats as
 * Twilio. Test calls use it as the simulated carrier.
 * @param own settings of the simulated carrier that the service does not know
 */
export async function startSimulatedTwilio(
  { api, media, carrier: port }: Ports,
  own: Record<string, string> = {},
): Promise<CarrierServer> {
  const [carrierAccountId, authToken] = [newSid('AC'), randomBytes(16).toString('hex')];
  const carrierUrl = `http://127.0.0.1:${port}`;
  const settings = {
    SIMULATOR_PORT: String(port),
    SIMULATOR_URL: carrierUrl,
    SIMULATOR_ACCOUNT_SID: carrierAccountId,
    SIMULATOR_AUTH_TOKEN: authToken,
    PUBLIC_BASE_URL: `http://127.0.0.1:${api}`,
    STREAM_URL: `ws://127.0.0.1:${media}/stream`,
  };
  const config = parseConfig({ NODE_ENV: 'test', ...settings, ...own });
  const simulator = createSimulator({ config, logger: createLogger({ role: 'test', level: 'silent' }) });
  await simulator.listen();
  const apiKey = await createApiKey(carrierUrl);
  const doubleOf = (mode: Mode) => createTwilioDouble({ mode, config, carrierUrl });

  return {
    env: {
      ALLOW_INSECURE_DEVELOPMENT: 'true',
      CARRIER: 'twilio',
      CARRIER_BASE_URL: carrierUrl,
      CARRIER_FROM_NUMBER: '+12025550199',
      CARRIER_CALLS_PER_SECOND: 'unlimited',
      TWILIO_ACCOUNT_SID: carrierAccountId,
      TWILIO_AUTH_TOKEN: authToken,
      TWILIO_API_KEY_SID: apiKey.sid,
      TWILIO_API_KEY_SECRET: apiKey.secret,
      ALLOW_DEMO_ENGINE_ON_LIVE_CALLS: 'true',
      ...settings,
    },
    doubles: { live: doubleOf('live'), test: doubleOf('test') },
    close: () => simulator.close(),
  };
}

/** A call as the simulated carrier's control API describes it. */
interface Story {
  time_limit_seconds: number | null;
  twiml: string[];
}

function createTwilioDouble(p: { mode: Mode; config: Config; carrierUrl: string }): CarrierDouble {
  const { mode, config, carrierUrl } = p;
  const { publicBaseUrl: baseUrl } = config;
  const { carrierAccountId, authToken } = config.carriers[mode];
  let streamSid = newSid('MZ');

  function signed(path: string, fields: Record<string, string>): SignedRequest {
    const params: SignedParams = { AccountSid: carrierAccountId, ...fields };
    return {
      path,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'X-Twilio-Signature': sign({ authToken, url: `${baseUrl}${path}`, params }),
      },
      body: new URLSearchParams(params as Record<string, string>).toString(),
    };
  }

  async function read<T>(path: string): Promise<T> {
    return (await (await fetch(`${carrierUrl}/simulator${path}`)).json()) as T;
  }

  return {
    newCallId: () => newSid('CA'),
    newStreamId: () => newSid('MZ'),
    foreignIds: ['5f0f1c1e-6b1f-4c3e-9d5a-2f6f0c1b2a3d', '../../Keys', `CA${'A'.repeat(32)}`, ''],
    numbers: NUMBERS,
    dialFaults: DIAL_FAULTS,
    async limitOf(sid) {
      return (await read<Story>(`/calls/${sid}`)).time_limit_seconds ?? undefined;
    },
    async instructionsFor(sid) {
      const { twiml } = await read<Story>(`/calls/${sid}`);
      return twiml.map((body) => readTwiml({ contentType: '', body }));
    },
    async receive({ from, to, forwardedFrom }) {
      const response = await fetch(`${carrierUrl}/simulator/inbound`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ from, to, forwarded_from: forwardedFrom, mode, script: '07' }),
      });
      return ((await response.json()) as { sid: string }).sid;
    },
    async hangUp(sid) {
      const credentials = Buffer.from(`${carrierAccountId}:${authToken}`).toString('base64');
      await fetch(`${carrierUrl}/2010-04-01/Accounts/${carrierAccountId}/Calls/${sid}.json`, {
        method: 'POST',
        headers: { authorization: `Basic ${credentials}` },
        body: new URLSearchParams({ Status: 'completed' }),
      });
    },
    request(callId, report) {
      const route = { detected: 'amd', stream_ended: 'after-stream', answered: 'status', ended: 'status' }[report.kind];
      return signed(`/carrier/calls/${callId}/${route}`, fieldsOf(report));
    },
    announce: (CallSid, { from, to, forwardedFrom }) =>
      signed('/inbound_call', { CallSid, From: from, To: to, ForwardedFrom: forwardedFrom, CallStatus: 'ringing' }),
    upgradeOf(markup) {
      const url = firstOf(markup, 'Connect').children[0]?.attributes['url'] ?? '';
      return { url, rest: '', headers: { 'x-twilio-signature': sign({ authToken, url, params: {} }) } };
    },
    encode(events) {
      for (const event of events) if (event.event === 'start') streamSid = event.streamId;
      return events.map((event) => ({
        data: Buffer.from(JSON.stringify({ ...wordsOf(event), streamSid })),
        isBinary: false,
      }));
    },
    interpret(message) {
      const {
        event,
        media: sound,
        mark,
        ...rest
      } = JSON.parse(String(message)) as {
        event: string;
        streamSid: string;
        media?: { payload: string };
        mark?: { name: string };
      };
      expect(rest).toEqual({ streamSid });
      if (event === 'clear') return 'clear';
      return mark === undefined
        ? { audio: Buffer.from(sound?.payload ?? '', 'base64').toString('hex') }
        : { mark: mark.name };
    },
    read: readTwiml,
  };
}

/** Creates an API key of the live account, as an operator does in Twilio's console. */
async function createApiKey(carrierUrl: string): Promise<{ sid: string; secret: string }> {
  const response = await fetch(`${carrierUrl}/simulator/api-keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ mode: 'live' }),
  });
  return (await response.json()) as { sid: string; secret: string };
}

function fieldsOf(report: CallReport): Record<string, string> {
  const { carrierSid: CallSid } = report;
  if (report.kind === 'stream_ended') return { CallSid };
  if (report.kind === 'detected') return { CallSid, AnsweredBy: report.who === 'human' ? 'human' : 'machine_start' };
  return { CallSid, CallStatus: report.kind === 'answered' ? 'in-progress' : 'completed', SequenceNumber: '1' };
}

function firstOf({ body }: Markup, name: string): TwimlElement {
  const found = parseTwiml(body).find((element) => element.name === name);
  if (found === undefined) throw new Error(`There is no ${name} in ${body}.`);
  return found;
}

function readTwiml(markup: Markup): Partial<CallInstruction> {
  const verbs = parseTwiml(markup.body).filter(({ name }) => name !== 'Pause');
  const [first] = verbs;
  const callIdOf = (url = '') => /(call_[^/]+?)(?:\/after-stream.*)?$/.exec(url)?.[1] ?? '';
  if (first?.name === 'Connect') {
    const stream = first.children[0];
    const resumption = stream?.children[0]?.attributes['value'];
    const callId = callIdOf(stream?.attributes['url']);
    return { kind: 'stream', callId, ...(resumption === undefined ? {} : { streamNumber: Number(resumption) }) };
  }
  if (first?.name === 'Dial') {
    const { action, callerId = '', timeLimit } = first.attributes;
    const to = first.children[0]?.text ?? '';
    return { kind: 'transfer', callId: callIdOf(action), to, callerId, timeLimitSeconds: Number(timeLimit) };
  }
  if (first?.name === 'Reject') return { kind: 'reject' };
  expect(verbs.at(-1)?.name).toBe('Hangup');
  return first?.name === 'Say' ? { kind: 'apology', text: first.text } : { kind: 'hang_up' };
}

function wordsOf(event: MediaEvent): object {
  switch (event.event) {
    case 'start': {
      const mediaFormat = {
        encoding: event.isTelephoneAudio ? 'audio/x-mulaw' : 'opus',
        sampleRate: 8_000,
        channels: 1,
      };
      const customParameters = event.streamNumber === 0 ? {} : { resumption: String(event.streamNumber) };
      const { carrierSid: callSid, streamId: streamSid } = event;
      return { event: 'start', start: { callSid, streamSid, tracks: ['inbound'], mediaFormat, customParameters } };
    }
    case 'media': {
      const payload = Buffer.from(event.mulaw).toString('base64');
      return { event: 'media', media: { track: 'inbound', timestamp: String(event.timestampMs), payload } };
    }
    case 'dtmf':
      return { event: 'dtmf', dtmf: { track: 'inbound_track', digit: event.digit } };
    case 'mark':
      return { event: 'mark', mark: { name: event.name } };
    default:
      return { event: event.event };
  }
}
