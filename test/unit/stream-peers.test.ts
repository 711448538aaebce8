import { createTwilioCodec } from '../../src/telephony/twilio/media-codec.js';
import type { StreamLog } from '../../src/telephony/simulator/call-record.js';
import type { Line } from '../../src/telephony/simulator/media/line.js';
import { receiveMessage } from '../../src/telephony/simulator/media/stream-wire.js';
import { sidOf } from '../support/sids.js';

const STREAM = sidOf('MZ', 1);
const PAYLOAD = Buffer.alloc(160, 0x7f).toString('base64');

/**
 * The messages that clients of other projects send on a media stream, in the order of their fields: Pipecat's
 * `TwilioFrameSerializer` (`pipecat-ai` 1.14.0) and OpenAI's `TwilioRealtimeTransportLayer` (`@openai/agents-extensions`
 * 0.18.0). The audio of a message may have any length.
 */
const MESSAGES = [
  ['Pipecat', { event: 'media', streamSid: STREAM, media: { payload: PAYLOAD } }],
  ['Pipecat', { event: 'clear', streamSid: STREAM }],
  ['OpenAI', { event: 'media', streamSid: STREAM, media: { payload: Buffer.alloc(1_603).toString('base64') } }],
  ['OpenAI', { event: 'mark', streamSid: STREAM, mark: { name: 'item_1:200:g1:m1' } }],
  ['OpenAI', { event: 'mark', streamSid: STREAM, mark: { name: 'done:item_1:g1:m2' } }],
  ['OpenAI', { event: 'clear', streamSid: STREAM }],
] as const;

describe('a media stream with a client of another project', () => {
  it.each(MESSAGES)('the simulated carrier takes what %s sends (%#)', (_, message) => {
    const told: string[] = [];
    const line = {
      play: (mulaw: Uint8Array) => told.push(`${mulaw.length} bytes`) > 0,
      mark: (name: string) => void told.push(name),
      clear: () => void told.push('clear'),
    } as unknown as Line;
    const log = { streamSid: STREAM, mediaReceived: 0, bytesReceived: 0, clears: 0, marks: [] } as unknown as StreamLog;
    expect(receiveMessage(line, log, Buffer.from(JSON.stringify(message)))).toBe(true);
    expect(told).toHaveLength(1);
  });

  it('our media server sends the same messages', () => {
    const codec = createTwilioCodec();
    const mediaFormat = { encoding: 'audio/x-mulaw', sampleRate: 8_000, channels: 1 };
    const start = { event: 'start', start: { streamSid: STREAM, callSid: sidOf('CA', 1), mediaFormat } };
    codec.decode(Buffer.from(JSON.stringify(start)), false, () => undefined);
    const sent = [codec.media(Buffer.from(PAYLOAD, 'base64')), codec.mark('item_1:200:g1:m1'), codec.clear()];
    expect(sent.map((text) => JSON.parse(String(text)) as unknown)).toEqual([
      MESSAGES[0][1],
      MESSAGES[3][1],
      MESSAGES[1][1],
    ]);
  });

  it('our media server reads the fields that they read, without the others', () => {
    const events: unknown[] = [];
    const codec = createTwilioCodec();
    for (const message of [
      // OpenAI's transport calls the format of the audio and the time of a message optional; ours needs both.
      { event: 'media', media: { payload: PAYLOAD, timestamp: '40' } },
      { event: 'dtmf', dtmf: { digit: '5' } },
      { event: 'mark', mark: { name: 'done:item_1:g1:m2' } },
    ])
      codec.decode(Buffer.from(JSON.stringify(message)), false, (event) => void events.push(event));
    expect(events).toMatchObject([
      { event: 'media', timestampMs: 40 },
      { event: 'dtmf', digit: '5' },
      { event: 'mark', name: 'done:item_1:g1:m2' },
    ]);
  });
});
