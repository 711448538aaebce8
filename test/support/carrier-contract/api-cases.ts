import type { MediaCodec, MediaEvent } from '../../../src/telephony/media.js';
import { ProtocolViolation } from '../../../src/telephony/media.js';
import type { CarrierApi } from '../../../src/telephony/port.js';
import type { CarrierDouble } from './double';

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
      for (const ask of [carrier.hangUp(foreign), carrier.limitTo(foreign, 60), carrier.fetch(foreign)]) {
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
