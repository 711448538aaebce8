import { randomBytes, randomUUID } from 'node:crypto';
import type { CallDocument } from '../../src/calls/call-model.js';
import { createCallGateway } from '../../src/calls/gateway.js';
import { createCallMediaServer } from '../../src/calls/media.js';
import { createPorts } from '../../src/dev/processes/free-port.js';
import { encodeCrockford } from '../../src/kernel/ids.js';
import type { Config } from '../../src/platform/config/config.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import type { CallInstruction, CarrierRequest, Markup } from '../../src/telephony/callbacks.js';
import { CARRIERS, createCarriers, type CarrierFactory } from '../../src/telephony/carriers.js';
import { ProtocolViolation, type MediaEvent } from '../../src/telephony/media.js';
import type { Carrier, StreamUpgrade } from '../../src/telephony/port.js';
import { createEngines } from '../../src/voice/engines/engines.js';
import { eventually, startService, type Customer, type Service } from './http/harness';
import { createScriptedEngine } from '../integration/voice/support/scripted-engine';

/** A carrier's event about a call, in our terms. */
export type Told =
  | { kind: 'answered' | 'ended'; carrierSid: string }
  | { kind: 'listened'; carrierSid: string; who: 'human' | 'voicemail' };

export interface Ports {
  api: number;
  media: number;
  carrier: number;
}

/** The carrier's side of the interface, driven by the suite. */
export interface FarSide {
  env: Record<string, string>;
  /** The configuration with this carrier as the live one. */
  adapt?(config: Config): Config;
  factories?: Readonly<Record<string, CarrierFactory>>;
  newCallId(): string;
  /** Ids in other carriers' formats, and path traversals. */
  foreignIds: readonly string[];
  /** A phone number that a person answers. */
  person: string;
  /** The call's time limit at the carrier, in seconds from the answer. */
  limitOf(carrierSid: string): Promise<number | undefined>;
  /** A signed callback with this event. */
  request(callId: string, told: Told): { path: string; headers: Record<string, string>; body: string };
  /** The upgrade request with which the carrier opens the media stream of an instruction. */
  upgradeOf(markup: Markup): StreamUpgrade;
  /** The stream messages for these events, in the order of arrival. */
  wire(events: readonly MediaEvent[]): { data: Buffer; isBinary: boolean }[];
  /** How the carrier interprets one of our stream messages. */
  understood(message: string | Uint8Array): { audio: string } | { mark: string } | 'clear';
  /** How the carrier interprets an instruction. */
  read(markup: Markup): Partial<CallInstruction>;
  close(): Promise<void>;
}

const newCallId = () => `call_${encodeCrockford(randomBytes(16))}`;

/** Tests that every carrier must pass, with a real database, Temporal server, API, worker and media server. */
export function describeCarrier(name: string, start: (ports: Ports) => Promise<FarSide>): void {
  describe(`the carrier ${name}`, () => {
    let stack: Awaited<ReturnType<typeof startStack>>;
    let carrier: Carrier;
    let far: FarSide;
    let customer: Customer;
    beforeAll(async () => {
      stack = await startStack(start);
      ({ carrier, far } = stack);
      customer = await stack.service.customer();
    }, 90_000);
    afterAll(() => stack.close());

    const dialOf = (callId: string) => ({
      callId,
      to: far.person,
      from: '+12025550199',
      ringTimeoutSeconds: 30,
      timeLimitSeconds: 90,
    });

    describe('takes orders', () => {
      it('places a call, knows it by its identifier and numbers, and ends it once', async () => {
        const since = Date.now() - 1_000;
        const dialed = await carrier.dial(dialOf(newCallId()));
        expect(dialed).toEqual({ outcome: 'accepted', carrierSid: expect.any(String) });
        const { carrierSid } = dialed as { carrierSid: string };
        expect(carrier.isCallId(carrierSid)).toBe(true);
        await eventually(async () => {
          const found = await carrier.findPlaced({ ...dialOf(''), since });
          return found.some((call) => call.carrierSid === carrierSid);
        });
        await carrier.hangUp(carrierSid);
        await carrier.hangUp(carrierSid);
        await eventually(
          async () => !['queued', 'ringing', 'in-progress'].includes((await carrier.fetch(carrierSid))!.status),
        );
      });

      it('knows nothing of a call that it never had', async () => {
        expect(await carrier.fetch(far.newCallId())).toBeUndefined();
      });

      it('is asked for nothing by an identifier that is not its own', async () => {
        for (const foreign of far.foreignIds) {
          expect(carrier.isCallId(foreign)).toBe(false);
          for (const ask of [carrier.hangUp(foreign), carrier.fetch(foreign)]) {
            await expect(ask).rejects.toMatchObject({ name: 'CarrierRequestRefused' });
          }
        }
      });
    });

    describe('proves who it is', () => {
      const told = (): Told => ({ kind: 'answered', carrierSid: far.newCallId() });
      const asRequest = (path: string, headers: Record<string, string>, body: string): CarrierRequest => ({
        url: `${stack.service.config.publicBaseUrl}${path}`,
        headers: Object.fromEntries(Object.entries(headers).map(([key, value]) => [key.toLowerCase(), value])),
        body: Buffer.from(body),
      });

      it('by a signature over address and body', () => {
        const { path, headers, body } = far.request(newCallId(), told());
        const request = asRequest(path, headers, body);
        expect(carrier.mayBeSigned(request.headers)).toBe(true);
        expect(carrier.isSigned(request)).toBe(true);
        expect(carrier.isSigned(asRequest(`${path}x`, headers, body))).toBe(false);
        expect(carrier.isSigned(asRequest(path, headers, body.replace(/.$/s, ' ')))).toBe(false);
        expect(carrier.mayBeSigned({})).toBe(false);
        expect(carrier.isSigned(asRequest(path, {}, body))).toBe(false);
      });

      it('to the API, which refuses what is not signed', async () => {
        const { path, headers, body } = far.request(newCallId(), told());
        const post = (given: Record<string, string>) =>
          stack.service.request(path, { method: 'POST', headers: given, body });
        expect((await post(headers)).status).toBe(200);
        expect((await post({ 'content-type': headers['content-type'] ?? '' })).status).toBe(403);
      });

      it('when it opens the stream of a call, and of no other call', () => {
        const [one, other] = [newCallId(), newCallId()];
        const upgrade = far.upgradeOf(carrier.render({ kind: 'stream', callId: one }));
        expect(carrier.admitsStream(upgrade)).toBe(true);
        expect(carrier.admitsStream({ ...upgrade, url: upgrade.url.replace(one, other) })).toBe(false);
        expect(carrier.admitsStream({ ...upgrade, rest: `${upgrade.rest}x` })).toBe(false);
        expect(carrier.admitsStream({ url: upgrade.url, rest: '', headers: {} })).toBe(false);
      });
    });

    describe('is told what to do', () => {
      it.each<CallInstruction>([
        { kind: 'stream', callId: 'call_1' },
        { kind: 'stream', callId: 'call_1', resumption: 2 },
        { kind: 'transfer', callId: 'call_1', to: '+12025550143', callerId: '+12025550199', timeLimitSeconds: 540 },
        { kind: 'apology', words: 'We are sorry & gone.' },
        { kind: 'hang_up' },
        { kind: 'reject' },
      ])('$kind', (instruction) => {
        const markup = carrier.render(instruction);
        expect(markup.contentType).toMatch(/; charset=utf-8$/);
        expect(far.read(markup)).toEqual(instruction);
      });
    });

    describe('speaks on a stream', () => {
      const ids = () => ({ carrierSid: far.newCallId(), isTelephoneAudio: true, resumption: 0 });
      /** The start event of a stream, with an id in this carrier's format. */
      const beginning = (): MediaEvent => ({ event: 'start', streamId: stack.newStreamId(), ...ids() });
      const frame = (n: number): MediaEvent => ({ event: 'media', mulaw: Buffer.alloc(160, n), timestampMs: n * 20 });

      it('in our events and in the order in which they happened', () => {
        const events: MediaEvent[] = [
          beginning(),
          ...Array.from({ length: 12 }, (_, n) => frame(n)),
          { event: 'dtmf', digit: '5' },
          { event: 'mark', name: 'greeting' },
          frame(12),
          { event: 'stop' },
        ];
        const codec = carrier.createCodec();
        const heard: MediaEvent[] = [];
        for (const { data, isBinary } of far.wire(events)) codec.decode(data, isBinary, (event) => heard.push(event));
        expect(heard.filter(({ event }) => event !== 'connected')).toEqual(events);
      });

      it('and understands what is said to it', () => {
        const codec = carrier.createCodec();
        for (const { data, isBinary } of far.wire([beginning()])) codec.decode(data, isBinary, () => undefined);
        const audio = Buffer.alloc(160, 7);
        expect(far.understood(codec.media(audio))).toEqual({ audio: audio.toString('hex') });
        expect(far.understood(codec.mark('a "b"'))).toEqual({ mark: 'a "b"' });
        expect(far.understood(codec.clear())).toBe('clear');
      });

      it.each(['', 'null', '{}', '[]', '{"event":7,"t":7,"n":0}', '{"n":-1}'])('and nothing else: %s', (text) => {
        const codec = carrier.createCodec();
        expect(() => codec.decode(Buffer.from(text), false, () => undefined)).toThrow(ProtocolViolation);
      });
    });

    describe('carries a call from its request to its settlement', () => {
      it('whose events reach the call and its timeline, and whose audio is heard', async () => {
        const call = await stack.talk(customer);
        expect(call.binding).toMatchObject({ carrier: carrier.kind, carrierSid: expect.any(String) });
        expect(carrier.isCallId(call.binding.carrierSid)).toBe(true);
        const listened: Told = { kind: 'listened', carrierSid: call.binding.carrierSid, who: 'human' };
        const { path, headers, body } = far.request(call.callId, listened);
        expect((await stack.service.request(path, { method: 'POST', headers, body })).status).toBe(200);
        expect(await stack.bindingOf(call.callId)).toMatchObject({ answeredBy: 'human' });
        call.sink.audio('item', Buffer.alloc(1_600, 0x7f));
        call.sink.endOfItem('item');
        await eventually(async () => call.scripted.played.some(({ complete }) => complete));
        call.sink.end('agent_hangup');
        const ended = await stack.ended(call.callId);
        expect(ended).toMatchObject({ status: 'COMPLETED', endReason: 'agent_hangup' });
        const statuses = await stack.timeline(call.callId);
        expect(statuses.length).toBeGreaterThan(1);
      }, 60_000);

      it('that its own timer ends at its limit, whatever the carrier can do', async () => {
        await stack.service.database.agents.updateOne({ _id: customer.agent._id }, { $set: { maxDurationSeconds: 4 } });
        const call = await stack.talk(customer);
        const ended = await stack.ended(call.callId);
        expect(ended).toMatchObject({ status: 'COMPLETED', endReason: 'max_duration' });
        // No carrier supports a limit below one minute, so the carrier did not end the call.
        expect(await far.limitOf(call.binding.carrierSid)).toBeGreaterThanOrEqual(60);
      }, 60_000);

      it('and its limit at the carrier is that of what is paid for, or that of the whole call where it cannot be moved', async () => {
        await stack.service.database.agents.updateOne(
          { _id: customer.agent._id },
          { $set: { maxDurationSeconds: 600 } },
        );
        const call = await stack.talk(customer);
        // The hold windows are 3 and 100 s long.
        const paid = 103;
        const { canChangeTimeLimit } = carrier.capabilities;
        await eventually(
          async () => (await far.limitOf(call.binding.carrierSid)) === (canChangeTimeLimit ? paid : 600),
        );
        await new Promise((resolve) => setTimeout(resolve, 3_500));
        call.sink.end('agent_hangup');
        expect(await stack.ended(call.callId)).toMatchObject({ status: 'COMPLETED', endReason: 'agent_hangup' });
      }, 60_000);
    });
  });
}

async function startStack(start: (ports: Ports) => Promise<FarSide>) {
  const free = createPorts(process.env);
  const ports = { api: await free.take(), media: await free.take(), carrier: await free.take() };
  const far = await start(ports);
  const factories = far.factories ?? CARRIERS;
  const service: Service = await startService({
    env: {
      API_PORT: String(ports.api),
      PUBLIC_BASE_URL: `http://127.0.0.1:${ports.api}`,
      MEDIA_PORT: String(ports.media),
      STREAM_URL: `ws://127.0.0.1:${ports.media}/stream`,
      HOLD_WINDOWS: '3,100',
      ...far.env,
    },
    carriers: factories,
    ...(far.adapt && { adapt: (config) => far.adapt?.(config) ?? config }),
  });
  const { config, database } = service;
  const carriers = createCarriers({ config, factories });
  const gateway = await createCallGateway({ config });
  const engine = createScriptedEngine();
  const engines = createEngines({ byDefault: engine.factory, forTests: engine.factory });
  const logger = createLogger({ role: 'test', level: 'silent' });
  const media = createCallMediaServer({ config, database, gateway, engines, logger, carriers });
  await media.listen();

  const bindingOf = (callId: string) => database.carrierBindings.findById(callId).lean();

  return {
    service,
    far,
    carrier: carriers.live,
    bindingOf,
    newStreamId: () => (carriers.live.isCallId(randomUUID()) ? randomUUID() : `MZ${randomBytes(16).toString('hex')}`),

    /** Places a call with the customer's agent; resolves when its engine can speak. */
    async talk(customer: Customer) {
      const answer = await service.place(customer.liveKey, {
        to_phone_number: far.person,
        agent_id: customer.agent._id,
      });
      if (answer.status !== 200) throw new Error(`The call was refused: ${answer.text}`);
      const callId = String(answer.json['call_id']);
      const scripted = await eventually(async () => engine.calls.get(callId));
      const binding = (await bindingOf(callId))!;
      return { callId, scripted, sink: scripted.sink, binding };
    },

    ended(callId: string): Promise<CallDocument> {
      return eventually(async () => {
        const call = await database.calls.findById(callId).lean<CallDocument>();
        return call?.endTime !== undefined && call;
      }, 40_000);
    },

    async timeline(callId: string): Promise<string[]> {
      return (await database.carrierEvents.find({ callId }).lean()).map(({ status }) => status);
    },

    async close(): Promise<void> {
      await media.close();
      await gateway.close();
      await service.close();
      await far.close();
      await free.release();
    },
  };
}
