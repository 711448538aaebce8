import { framesOf } from '../../src/voice/media/caller-frames.js';
import { ProtocolViolation } from '../../src/telephony/media.js';
import { parseCarrierMessage } from '../../src/telephony/twilio/media-codec.js';
import { engineCallOf } from '../../src/voice/session/engine-call.js';
import { openingOf } from '../../src/voice/engines/offline/lines.js';
import { voiceNamed } from '../../src/voice/engines/voices.js';
import type { CallRequestDocument } from '../../src/calls/call-request-model.js';
import { sidOf } from '../support/sids.js';

describe('the carrier’s messages', () => {
  it('are read as the carrier writes them, numbers in strings', () => {
    const payload = Buffer.alloc(160, 7).toString('base64');
    const media = `{"event":"media","media":{"track":"inbound","chunk":"1","timestamp":"40","payload":"${payload}"}}`;
    expect(parseCarrierMessage(media)).toEqual({ event: 'media', timestampMs: 40, mulaw: Buffer.alloc(160, 7) });
    expect(parseCarrierMessage('{"event":"mark","mark":{"name":"m1"}}')).toEqual({ event: 'mark', name: 'm1' });
    expect(parseCarrierMessage('{"event":"dtmf","dtmf":{"digit":"#"}}')).toEqual({ event: 'dtmf', digit: '#' });
    expect(parseCarrierMessage('{"event":"later"}')).toEqual({ event: 'unknown' });
  });

  it.each([
    '',
    'null',
    '3',
    '{}',
    '{"event":7}',
    '{"event":"media"}',
    '{"event":"media","media":{"timestamp":"0","payload":""}}',
    '{"event":"media","media":{"timestamp":"0","payload":"abc"}}',
    `{"event":"media","media":{"timestamp":"0","payload":"${'AAAA'.repeat(600)}"}}`,
    '{"event":"media","media":{"timestamp":"1e99","payload":"AAAA"}}',
    '{"event":"media","media":{"timestamp":1.5,"payload":"AAAA"}}',
    `{"event":"start","start":{"callSid":{"$gt":""},"streamSid":"${sidOf('MZ', 1)}","mediaFormat":{}}}`,
    '{"event":"mark","mark":{"name":["m1"]}}',
    '{"event":"dtmf","dtmf":{"digit":"12"}}',
  ])('are refused when malformed: %s', (text) => {
    expect(() => parseCarrierMessage(text)).toThrow(ProtocolViolation);
  });
});

describe('the caller’s frames', () => {
  it('are cut to 20 ms each and filled up at the end', () => {
    const frames = framesOf(() => 0)(new Uint8Array(400).fill(1), 100);
    expect(frames.map(({ frame, atMs }) => [frame.length, atMs])).toEqual([
      [160, 100],
      [160, 120],
      [160, 140],
    ]);
    expect(frames[2]?.frame.at(-1)).toBe(0xff);
  });

  it('are laid on the stream’s own time line when the carrier counts from elsewhere', () => {
    let now = 50;
    const cut = framesOf(() => now);
    const atOf = (timestamp: number) => cut(new Uint8Array(160), timestamp)[0]?.atMs;
    expect(atOf(1_700_000_000_000)).toBe(50);
    now = 5_000;
    expect(atOf(1_700_000_000_020)).toBe(70);
    expect(atOf(1_900_000_000_000)).toBe(5_000);
  });
});

describe('the offline opening', () => {
  it.each([
    ['Please confirm the table. Then thank them.', 'Please confirm the table.'],
    ['Ask for Mr. Smith', 'Ask for Mr.'],
    ['  no end\n\tat all ', 'no end at all'],
    ['Say 3.50 dollars! Now.', 'Say 3.50 dollars!'],
    ['a\u0000b\u202ec', 'a b c'],
    ['', ''],
  ])('of %j is %j', (instruction, opening) => {
    expect(openingOf(instruction)).toBe(opening);
  });

  it('is at most 300 characters long', () => {
    expect(openingOf('word '.repeat(1_000)).length).toBeLessThanOrEqual(300);
  });
});

describe('what an engine is told', () => {
  const request = (outputParameters?: string) =>
    ({
      _id: 'call_1',
      inputParameters: '{"a":{"b":1}}',
      direction: 'outbound',
      agent: { agentId: 'agent_1', instruction: 'x', voice: 'amber', language: 'en-US', outputParameters },
    }) as CallRequestDocument;

  it('holds the template’s defaults and the request’s parameters', () => {
    const call = engineCallOf(request('{"yes":false,"name":null,"__proto__":1,"odd":[1]}'), true);
    expect(JSON.stringify(call.outputTemplate)).toBe('{"yes":false,"name":null,"__proto__":1,"odd":null}');
    expect(call.inputParameters).toEqual({ a: { b: 1 } });
    expect(engineCallOf(request(), true).outputTemplate).toEqual({});
    expect(engineCallOf(request('nonsense'), true).outputTemplate).toEqual({});
  });

  it('falls back to the default voice for a name nobody knows', () => {
    expect(voiceNamed('no such voice').name).toBe('amber');
    expect(voiceNamed('cobalt').flite).toBe('rms');
  });
});
