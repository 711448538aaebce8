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
import { ProtocolViolation, type MediaCodec, type MediaEvent } from '../../src/telephony/media.js';
import type { Carrier, CarrierApi, StreamUpgrade } from '../../src/telephony/port.js';
import { createEngines } from '../../src/voice/engines/engines.js';
import { eventually, startService, type Customer, type Service } from './http/harness';
import { createScriptedEngine } from '../integration/voice/support/scripted-engine';

/** An event of a call that the test makes the carrier report, in a form that does not depend on the carrier. */
export type CallReport =
  | { kind: 'answered' | 'ended'; carrierSid: string }
  | { kind: 'detected'; carrierSid: string; who: 'human' | 'voicemail' };

export interface Ports {
  api: number;
  media: number;
  carrier: number;
}

/** The carrier's side of the interface. The suite controls it. */
export interface CarrierDouble {
  env: Record<string, string>;
  /** Changes the configuration so that this carrier is the live one. */
  adapt?(config: Config): Config;
  factories?: Readonly<Record<string, CarrierFactory>>;
  newCallId(): string;
  /** Ids in the formats of other carriers, and path traversals. The adapter must reject all of them. */
  foreignIds: readonly string[];
  /** A phone number. A person answers calls to it. */
  person: string;
  /** Returns the call's time limit at the carrier, in seconds from the answer. */
  limitOf(carrierSid: string): Promise<number | undefined>;
  /** Builds a signed callback that reports this event. */
  request(callId: string, report: CallReport): { path: string; headers: Record<string, string>; body: string };
  /** Builds the upgrade request by which the carrier opens the media stream of an instruction. */
  upgradeOf(markup: Markup): StreamUpgrade;
  /** Encodes these events as stream messages, in the order in which they arrive. */
  encode(events: readonly MediaEvent[]): { data: Buffer; isBinary: boolean }[];
  /** Returns how the carrier understands a stream message of the service. */
  interpret(message: string | Uint8Array): { audio: string } | { mark: string } | 'clear';
  /** Returns how the carrier understands an instruction. */
  read(markup: Markup): Partial<CallInstruction>;
  close(): Promise<void>;
}

const newCallId = () => `call_${encodeCrockford(randomBytes(16))}`;

/** Tests that every carrier must pass, with a real database, Temporal server, API, worker and media server. */
export function describeCarrier(name: string, start: (ports: Ports) => Promise<CarrierDouble>): void {
  describe(`the carrier ${name}`, () => {
    let stack: Awaited<ReturnType<typeof startStack>>;
    let carrier: Carrier;
    let double: CarrierDouble;
    let customer: Customer;
    beforeAll(async () => {
      stack = await startStack(start);
      ({ carrier, double } = stack);
      customer = await stack.service.customer();
    }, 90_000);
    afterAll(() => stack.close());

    const dialOf = (callId: string) => ({
      callId,
      to: double.person,
      from: '+12025550199',
      ringTimeoutSeconds: 30,
      timeLimitSeconds: 90,
    });

    describe('places and ends calls', () => {
      it('places a call, finds it by its id and by its numbers, and ends it once', async () => {
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

      itChecksCallIds(() => ({ carrier, double }));
    });

    describe('authenticates its requests', () => {
      const report = (): CallReport => ({ kind: 'answered', carrierSid: double.newCallId() });
      const asRequest = (path: string, headers: Record<string, string>, body: string): CarrierRequest => ({
        url: `${stack.service.config.publicBaseUrl}${path}`,
        headers: Object.fromEntries(Object.entries(headers).map(([key, value]) => [key.toLowerCase(), value])),
        body: Buffer.from(body),
      });

      it('with a signature over URL and body', () => {
        const { path, headers, body } = double.request(newCallId(), report());
        const request = asRequest(path, headers, body);
        expect(carrier.mayBeSigned(request.headers)).toBe(true);
        expect(carrier.isSigned(request)).toBe(true);
        expect(carrier.isSigned(asRequest(`${path}x`, headers, body))).toBe(false);
        expect(carrier.isSigned(asRequest(path, headers, body.replace(/.$/s, ' ')))).toBe(false);
        expect(carrier.mayBeSigned({})).toBe(false);
        expect(carrier.isSigned(asRequest(path, {}, body))).toBe(false);
      });

      it('to the API, which rejects an unsigned callback', async () => {
        const { path, headers, body } = double.request(newCallId(), report());
        const post = (given: Record<string, string>) =>
          stack.service.request(path, { method: 'POST', headers: given, body });
        expect((await post(headers)).status).toBe(200);
        expect((await post({ 'content-type': headers['content-type'] ?? '' })).status).toBe(403);
      });

      it('when it opens the media stream of a call, but not for another call', () => {
        const [one, other] = [newCallId(), newCallId()];
        const upgrade = double.upgradeOf(carrier.render({ kind: 'stream', callId: one }));
        expect(carrier.admitsStream(upgrade)).toBe(true);
        expect(carrier.admitsStream({ ...upgrade, url: upgrade.url.replace(one, other) })).toBe(false);
        expect(carrier.admitsStream({ ...upgrade, rest: `${upgrade.rest}x` })).toBe(false);
        expect(carrier.admitsStream({ url: upgrade.url, rest: '', headers: {} })).toBe(false);
      });
    });

    describe('receives instructions', () => {
      it.each<CallInstruction>([
        { kind: 'stream', callId: 'call_1' },
        { kind: 'stream', callId: 'call_1', streamNumber: 2 },
        { kind: 'transfer', callId: 'call_1', to: '+12025550143', callerId: '+12025550199', timeLimitSeconds: 540 },
        { kind: 'apology', text: 'We are sorry & gone.' },
        { kind: 'hang_up' },
        { kind: 'reject' },
      ])('of the kind $kind', (instruction) => {
        const markup = carrier.render(instruction);
        expect(markup.contentType).toMatch(/; charset=utf-8$/);
        expect(double.read(markup)).toEqual(instruction);
      });
    });

    describeCodec(() => ({
      double,
      createCodec: () => carrier.createCodec(),
      start: { carrierSid: double.newCallId(), streamId: stack.newStreamId() },
    }));

    describe('conducts a call from its request to its settlement', () => {
      it('with status callbacks in the timeline and audio in both directions', async () => {
        const call = await stack.startCall(customer);
        expect(call.binding).toMatchObject({ carrier: carrier.kind, carrierSid: expect.any(String) });
        expect(carrier.isCallId(call.binding.carrierSid)).toBe(true);
        const detection: CallReport = { kind: 'detected', carrierSid: call.binding.carrierSid, who: 'human' };
        const { path, headers, body } = double.request(call.callId, detection);
        expect((await stack.service.request(path, { method: 'POST', headers, body })).status).toBe(200);
        expect(await stack.bindingOf(call.callId)).toMatchObject({ answeredBy: 'human' });
        call.sink.sendAudio('item', Buffer.alloc(1_600, 0x7f));
        call.sink.endItem('item');
        await eventually(async () => call.scripted.played.some(({ complete }) => complete));
        call.sink.end('agent_hangup');
        const ended = await stack.ended(call.callId);
        expect(ended).toMatchObject({ status: 'COMPLETED', endReason: 'agent_hangup' });
        const statuses = await stack.timeline(call.callId);
        expect(statuses.length).toBeGreaterThan(1);
      }, 60_000);

      it('that our timer ends at the maximum duration, even if the carrier cannot', async () => {
        await stack.service.database.agents.updateOne({ _id: customer.agent._id }, { $set: { maxDurationSeconds: 4 } });
        const call = await stack.startCall(customer);
        const ended = await stack.ended(call.callId);
        expect(ended).toMatchObject({ status: 'COMPLETED', endReason: 'max_duration' });
        // No carrier supports a limit below one minute. So the carrier did not end this call.
        expect(await double.limitOf(call.binding.carrierSid)).toBeGreaterThanOrEqual(60);
      }, 60_000);

      it('and limits it to the paid time, or to the whole call if the limit cannot be changed', async () => {
        await stack.service.database.agents.updateOne(
          { _id: customer.agent._id },
          { $set: { maxDurationSeconds: 600 } },
        );
        const call = await stack.startCall(customer);
        // Money was held for two windows, of 3 s and of 100 s.
        const paid = 103;
        const { canChangeTimeLimit } = carrier.capabilities;
        await eventually(
          async () => (await double.limitOf(call.binding.carrierSid)) === (canChangeTimeLimit ? paid : 600),
        );
        await new Promise((resolve) => setTimeout(resolve, 3_500));
        call.sink.end('agent_hangup');
        expect(await stack.ended(call.callId)).toMatchObject({ status: 'COMPLETED', endReason: 'agent_hangup' });
      }, 60_000);
    });
  });
}

/** Tests how an adapter treats call ids, which every carrier must pass. */
export function itChecksCallIds(
  given: () => { carrier: CarrierApi; double: Pick<CarrierDouble, 'newCallId' | 'foreignIds'> },
): void {
  it('reports nothing for an unknown call', async () => {
    const { carrier, double } = given();
    expect(await carrier.fetch(double.newCallId())).toBeUndefined();
  });

  it('rejects a call id in another format without a request', async () => {
    const { carrier, double } = given();
    for (const foreign of double.foreignIds) {
      expect(carrier.isCallId(foreign)).toBe(false);
      for (const ask of [carrier.hangUp(foreign), carrier.fetch(foreign)]) {
        await expect(ask).rejects.toMatchObject({ name: 'UnsafeCarrierRequest' });
      }
    }
  });
}

/** Tests the codec of a carrier's media streams, which every carrier must pass. */
export function describeCodec(
  given: () => {
    double: Pick<CarrierDouble, 'encode' | 'interpret'>;
    createCodec: () => MediaCodec;
    /** The ids of the first event, in this carrier's format. */
    start: { carrierSid: string; streamId: string };
  },
): void {
  describe('speaks the media stream protocol', () => {
    const frame = (n: number): MediaEvent => ({ event: 'media', mulaw: Buffer.alloc(160, n), timestampMs: n * 20 });
    const beginning = (start: { carrierSid: string; streamId: string }): MediaEvent => ({
      event: 'start',
      ...start,
      isTelephoneAudio: true,
      streamNumber: 0,
    });

    it('and its messages become our events in the original order', () => {
      const { double, createCodec, start } = given();
      const events: MediaEvent[] = [
        beginning(start),
        ...Array.from({ length: 12 }, (_, n) => frame(n)),
        { event: 'dtmf', digit: '5' },
        { event: 'mark', name: 'greeting' },
        frame(12),
        { event: 'stop' },
      ];
      const codec = createCodec();
      const heard: MediaEvent[] = [];
      for (const { data, isBinary } of double.encode(events))
        codec.decode(data, isBinary, (event) => heard.push(event));
      expect(heard.filter(({ event }) => event !== 'connected')).toEqual(events);
    });

    it('and understands our messages', () => {
      const { double, createCodec, start } = given();
      const codec = createCodec();
      for (const { data, isBinary } of double.encode([beginning(start)])) codec.decode(data, isBinary, () => undefined);
      const audio = Buffer.alloc(160, 7);
      expect(double.interpret(codec.media(audio))).toEqual({ audio: audio.toString('hex') });
      expect(double.interpret(codec.mark('a "b"'))).toEqual({ mark: 'a "b"' });
      expect(double.interpret(codec.clear())).toBe('clear');
    });

    it.each(['', 'null', '{}', '[]', '{"event":7,"t":7,"n":0}', '{"n":-1}'])(
      'and its malformed messages are a protocol violation: %s',
      (text) => {
        const codec = given().createCodec();
        expect(() => codec.decode(Buffer.from(text), false, () => undefined)).toThrow(ProtocolViolation);
      },
    );
  });
}

async function startStack(start: (ports: Ports) => Promise<CarrierDouble>) {
  const free = createPorts(process.env);
  const ports = { api: await free.take(), media: await free.take(), carrier: await free.take() };
  const double = await start(ports);
  const factories = double.factories ?? CARRIERS;
  const service: Service = await startService({
    env: {
      API_PORT: String(ports.api),
      PUBLIC_BASE_URL: `http://127.0.0.1:${ports.api}`,
      MEDIA_PORT: String(ports.media),
      STREAM_URL: `ws://127.0.0.1:${ports.media}/stream`,
      HOLD_WINDOWS: '3,100',
      ...double.env,
    },
    carriers: factories,
    ...(double.adapt && { adapt: (config) => double.adapt?.(config) ?? config }),
  });
  const { config, database } = service;
  const carriers = createCarriers({ config, factories });
  const gateway = await createCallGateway({ config });
  const engine = createScriptedEngine();
  const engines = createEngines({ defaultEngine: engine.factory, testEngine: engine.factory });
  const logger = createLogger({ role: 'test', level: 'silent' });
  const media = createCallMediaServer({ config, database, gateway, engines, logger, carriers });
  await media.listen();

  const bindingOf = (callId: string) => database.carrierBindings.findById(callId).lean();

  return {
    service,
    double,
    carrier: carriers.live,
    bindingOf,
    newStreamId: () => (carriers.live.isCallId(randomUUID()) ? randomUUID() : `MZ${randomBytes(16).toString('hex')}`),

    /** Places a call with the customer's agent. Resolves when the call's engine can speak. */
    async startCall(customer: Customer) {
      const answer = await service.place(customer.liveKey, {
        to_phone_number: double.person,
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
      await double.close();
      await free.release();
    },
  };
}
