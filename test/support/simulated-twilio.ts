import { randomBytes } from 'node:crypto';
import { parseConfig } from '../../src/platform/config/config.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import type { CallInstruction, Markup } from '../../src/telephony/callbacks.js';
import { createSimulator } from '../../src/telephony/simulator/server.js';
import { parseTwiml, type TwimlElement } from '../../src/telephony/simulator/instructions/twiml.js';
import { sign, type SignedParams } from '../../src/telephony/twilio/signature.js';
import type { MediaEvent } from '../../src/telephony/media.js';
import type { CarrierDouble, Ports, CallReport } from './carrier-contract';
import { newSid } from './sids';

/**
 * Starts Twilio's side for the contract suite: the simulated carrier, which the service's configuration treats as
 * Twilio.
 * @param own settings of the simulated carrier that the service does not know
 */
export async function startSimulatedTwilio(
  { api, media, carrier: port }: Ports,
  own: Record<string, string> = {},
): Promise<CarrierDouble> {
  const [carrierAccountId, authToken] = [newSid('AC'), randomBytes(16).toString('hex')];
  const baseUrl = `http://127.0.0.1:${api}`;
  const carrierUrl = `http://127.0.0.1:${port}`;
  const settings = {
    SIMULATOR_PORT: String(port),
    SIMULATOR_URL: carrierUrl,
    SIMULATOR_ACCOUNT_SID: carrierAccountId,
    SIMULATOR_AUTH_TOKEN: authToken,
    PUBLIC_BASE_URL: baseUrl,
    STREAM_URL: `ws://127.0.0.1:${media}/stream`,
  };
  const simulator = createSimulator({
    config: parseConfig({ NODE_ENV: 'test', ...settings, ...own }),
    logger: createLogger({ role: 'test', level: 'silent' }),
  });
  await simulator.listen();
  const apiKey = await createApiKey(carrierUrl);
  let streamSid = newSid('MZ');

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
    newCallId: () => newSid('CA'),
    foreignIds: ['5f0f1c1e-6b1f-4c3e-9d5a-2f6f0c1b2a3d', '../../Keys', `CA${'A'.repeat(32)}`, ''],
    person: '+12025550100',
    async limitOf(sid) {
      const story = (await (await fetch(`${carrierUrl}/simulator/calls/${sid}`)).json()) as {
        time_limit_seconds: number | null;
      };
      return story.time_limit_seconds ?? undefined;
    },
    request(callId, report) {
      const path = `/carrier/calls/${callId}/${report.kind === 'detected' ? 'amd' : 'status'}`;
      const params: SignedParams = { AccountSid: carrierAccountId, ...fieldsOf(report) };
      return {
        path,
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          'X-Twilio-Signature': sign({ authToken, url: `${baseUrl}${path}`, params }),
        },
        body: new URLSearchParams(params as Record<string, string>).toString(),
      };
    },
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
    read,
    close: () => simulator.close(),
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
  if (report.kind === 'detected') return { CallSid, AnsweredBy: report.who === 'human' ? 'human' : 'machine_start' };
  return { CallSid, CallStatus: report.kind === 'answered' ? 'in-progress' : 'completed', SequenceNumber: '1' };
}

function firstOf({ body }: Markup, name: string): TwimlElement {
  const found = parseTwiml(body).find((element) => element.name === name);
  if (found === undefined) throw new Error(`There is no ${name} in ${body}.`);
  return found;
}

function read(markup: Markup): Partial<CallInstruction> {
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
