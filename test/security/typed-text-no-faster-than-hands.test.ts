import { ProtocolViolation } from '../../src/telephony/media.js';
import { createWebCodec } from '../../src/telephony/web/codec.js';

/** How long the client types, in s, and what the longest test call of the offline engine lasts by default. */
const SECONDS = 600;
/** A character of four bytes. */
const WIDE = '\u{20000}';

/** Types one turn a second. @returns the bytes accepted before the socket was closed, and why it was */
function type(text: string): { bytes: number; closed?: ProtocolViolation } {
  const clock = jest.spyOn(performance, 'now').mockReturnValue(0);
  try {
    const codec = createWebCodec({ streamId: 's', carrierSid: 'web_1', isTelephoneAudio: true, streamNumber: 0 });
    let bytes = 0;
    for (let second = 0; second < SECONDS; second++) {
      clock.mockReturnValue(second * 1_000);
      try {
        codec.decode(Buffer.from(JSON.stringify({ event: 'text', text })), false, (event) => {
          if (event.event === 'text') bytes += Buffer.byteLength(event.text);
        });
      } catch (error) {
        if (error instanceof ProtocolViolation) return { bytes, closed: error };
        throw error;
      }
    }
    return { bytes };
  } finally {
    clock.mockRestore();
  }
}

describe('text that a browser types, which fills the database in free test calls', () => {
  it.each([
    ['turns of 1,000 characters', WIDE.repeat(1_000)],
    ['short turns of wide characters', WIDE.repeat(20)],
  ])('ends the socket when it comes faster than anybody types: %s', (_what, text) => {
    const { bytes, closed } = type(text);
    expect(closed).toEqual(new ProtocolViolation(1008, 'more text than anybody types'));
    expect(bytes).toBeLessThanOrEqual(4_096 + SECONDS * 30);
  });

  it('is accepted at the speed of a fast typist, after a pasted turn', () => {
    expect(type('Call me tomorrow at five.')).toEqual({ bytes: 25 * SECONDS });
    expect(type(WIDE.repeat(1_000)).bytes).toBe(4_000);
  });
});
