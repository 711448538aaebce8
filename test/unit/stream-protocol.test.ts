import { ProtocolViolation } from '../../src/telephony/media.js';
import { parseCarrierMessage } from '../../src/telephony/twilio/media-codec.js';
import { buildEngineCall } from '../../src/voice/session/engine-call.js';
import { firstSentence } from '../../src/voice/engines/offline/phrases.js';
import { findVoice } from '../../src/voice/engines/voices.js';
import type { CallRequestDocument } from '../../src/calls/call-request-model.js';
import { sidOf } from '../support/sids.js';

describe('the carrier’s media stream messages', () => {
  it('are parsed as the carrier sends them, with numbers in strings', () => {
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
  ])('are rejected if malformed: %s', (text) => {
    expect(() => parseCarrierMessage(text)).toThrow(ProtocolViolation);
  });
});

describe('the opening sentence of the offline engine', () => {
  it.each([
    ['Please confirm the table. Then thank them.', 'Please confirm the table.'],
    ['Ask for Mr. Smith', 'Ask for Mr. Smith'],
    ['Hello, this is Mia from Dr. Lund’s practice. Ask for a day.', 'Hello, this is Mia from Dr. Lund’s practice.'],
    ['Come at 9:30 a.m. in Main St. 4. Thank them.', 'Come at 9:30 a.m. in Main St. 4.'],
    ['Come at 9 a.m. Bring a friend.', 'Come at 9 a.m.'],
    ['You are Mia of Acme Inc. Ask for the day.', 'You are Mia of Acme Inc.'],
    ['Version 2.0 is out! It is good.', 'Version 2.0 is out!'],
    ['“Hello.” Then wait.', '“Hello.”'],
    ['One. two. Three.', 'One. two.'],
    ['  no end\n\tat all ', 'no end at all'],
    ['Say 3.50 dollars! Now.', 'Say 3.50 dollars!'],
    ['a\u0000b\u202ec', 'a b c'],
    ['', ''],
  ])('for %j is %j', (instruction, opening) => {
    expect(firstSentence(instruction)).toBe(opening);
  });

  it('is at most 300 characters long', () => {
    expect(firstSentence('word '.repeat(1_000)).length).toBeLessThanOrEqual(300);
  });
});

describe('the call data of an engine', () => {
  const request = (outputParameters?: string) =>
    ({
      _id: 'call_1',
      inputParameters: '{"a":{"b":1}}',
      direction: 'outbound',
      agent: { agentId: 'agent_1', instruction: 'x', voice: 'amber', language: 'en-US', outputParameters },
    }) as CallRequestDocument;

  it('contains the template’s defaults and the request’s parameters', () => {
    const call = buildEngineCall(request('{"yes":false,"name":null,"__proto__":1,"odd":[1]}'), true);
    expect(JSON.stringify(call.outputTemplate)).toBe('{"yes":false,"name":null,"__proto__":1,"odd":null}');
    expect(call.inputParameters).toEqual({ a: { b: 1 } });
    expect(buildEngineCall(request(), true).outputTemplate).toEqual({});
    expect(buildEngineCall(request('nonsense'), true).outputTemplate).toEqual({});
  });

  it('has the default voice for an unknown voice name', () => {
    expect(findVoice('no such voice').name).toBe('amber');
    expect(findVoice('cobalt').flite).toBe('rms');
  });
});
