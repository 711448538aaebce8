import { ProtocolViolation, type MediaEvent } from '../../src/telephony/media.js';
import { createWebCodec } from '../../src/telephony/web/codec.js';
import { SESSION_POLICY } from '../../src/voice/session/reducer/policy.js';
import { introducedWorld } from '../support/session-world';

const { maxDigits } = SESSION_POLICY.dtmf;

describe('the limits of digits', () => {
  it('count each digit of a browser’s messages', () => {
    const codec = createWebCodec({ streamId: 's', carrierSid: 'web_1', isTelephoneAudio: true, streamNumber: 0 });
    const events: MediaEvent[] = [];
    const message = Buffer.from(JSON.stringify({ event: 'digits', digits: '1'.repeat(32) }));
    const send = () => codec.decode(message, false, (event) => void events.push(event));
    send();
    send();
    expect(events).toHaveLength(64);
    expect(send).toThrow(new ProtocolViolation(1008, 'too many digits'));
    expect(events).toHaveLength(64);
  });

  it.each(['session', 'engine'] as const)('bound an entry if the %s completes it', (completes) => {
    const world = introducedWorld({
      capabilities: { endsTurns: 'session', ...(completes === 'engine' ? { completesDigits: 'engine' } : {}) },
    });
    // The first entry is complete, so digits within the minimum gap belong to the second one.
    for (const digit of '1#') world.happens({ type: 'dtmf_digit', digit });
    world.pass(100);
    for (let n = 0; n < 1_000; n++) world.happens({ type: 'dtmf_digit', digit: '2' });
    expect(world.state().dtmf.digits.length).toBeLessThanOrEqual(maxDigits);
    world.pass(10_000);
    const texts = world.stored().filter((text) => text.startsWith('caller: (keys:'));
    expect(texts.length).toBeGreaterThan(0);
    for (const text of texts) expect(text.match(/[\d#*]/g)!.length).toBeLessThanOrEqual(maxDigits);
  });
});
