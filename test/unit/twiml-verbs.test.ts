import type { TwimlSource } from '../../src/telephony/simulator/instructions/source.js';
import { parseTwiml } from '../../src/telephony/simulator/instructions/twiml.js';
import { nextSource, readVerb, type DialVerb } from '../../src/telephony/simulator/instructions/verbs.js';

const DOCUMENT: TwimlSource = { kind: 'url', target: { url: 'https://host/calls/1/twiml?a=1', method: 'POST' } };
const INLINE: TwimlSource = { kind: 'inline', twiml: '' };

const read = (xml: string, source: TwimlSource = DOCUMENT) =>
  readVerb(parseTwiml(`<Response>${xml}</Response>`)[0]!, source);

describe('readVerb', () => {
  it.each([
    ['<Hangup/>', { kind: 'hangUp' }],
    ['<Reject/>', { kind: 'reject' }],
    ['<Say> ten chars </Say>', { kind: 'wait', ms: 540 }],
    ['<Pause/>', { kind: 'wait', ms: 1_000 }],
    ['<Pause length="0.5"/>', { kind: 'wait', ms: 500 }],
    ['<Pause length="-1"/>', { kind: 'wait', ms: 1_000 }],
    ['<Pause length="999999"/>', { kind: 'wait', ms: 14_400_000 }],
    ['<Redirect method="GET"> /next </Redirect>', { kind: 'redirect', to: { url: '/next', method: 'GET' } }],
  ])('reads %s', (xml, instruction) => {
    expect(read(xml)).toEqual(instruction);
  });

  it('reads a stream with its parameters and its action', () => {
    const parameters = '<Parameter name="a" value="1"/><Parameter name="b" value="2"/>';
    expect(read(`<Connect action="/after"><Stream url="wss://host/s">${parameters}</Stream></Connect>`)).toEqual({
      kind: 'stream',
      request: { url: 'wss://host/s', customParameters: { a: '1', b: '2' } },
      action: { url: '/after', method: undefined },
    });
  });

  it('reads a number to dial, as text or as an element, with the carrier’s defaults', () => {
    expect(read('<Dial>+12025550100</Dial>')).toEqual({
      kind: 'dial',
      request: { number: '+12025550100', ringSeconds: 30, limitSeconds: 14_400 },
    });
    const number =
      '<Number statusCallback="answered?x=1" statusCallbackEvent="initiated answered">+12025550101</Number>';
    expect(read(`<Dial timeout="5" timeLimit="60" callerId="+12025550199">${number}</Dial>`)).toEqual({
      kind: 'dial',
      request: {
        number: '+12025550101',
        ringSeconds: 5,
        limitSeconds: 60,
        callerId: '+12025550199',
        callbacks: { url: 'https://host/calls/1/answered?x=1', method: 'POST', events: ['initiated', 'answered'] },
      },
    });
  });

  it('requests a callback for the end of a number’s call, unless the number names other events or none', () => {
    const events = (attributes: string) =>
      (read(`<Dial><Number ${attributes}>+12025550101</Number></Dial>`) as { request: DialVerb }).request.callbacks
        ?.events;
    expect(events('statusCallback="/told"')).toEqual(['completed']);
    expect(events('statusCallback="/told" statusCallbackEvent="ringing"')).toEqual(['ringing']);
    expect(events('statusCallback="/told" statusCallbackEvent="other"')).toEqual([]);
    expect(events('')).toBeUndefined();
  });

  it.each([
    ['<Gather/>', '<Gather> is not a supported verb.'],
    ['<Connect/>', '<Connect> must contain a <Stream> with the attribute url.'],
    ['<Connect><Stream/></Connect>', '<Connect> must contain a <Stream> with the attribute url.'],
    ['<Dial/>', '<Dial> must contain a phone number.'],
    [
      '<Dial><Sip>sip:a@b</Sip></Dial>',
      '<Dial> must contain a phone number or a single <Number>, and no other element.',
    ],
    [
      '<Dial><Number>1</Number><Number>2</Number></Dial>',
      '<Dial> must contain a phone number or a single <Number>, and no other element.',
    ],
  ])('rejects %s', (xml, message) => {
    expect(() => read(xml)).toThrow(expect.objectContaining({ code: 12100, message }));
  });
});

describe('nextSource', () => {
  const next = (url: string, source: TwimlSource = DOCUMENT, method?: string) => nextSource({ url, method }, source);
  const at = (url: string, method = 'POST') => ({ kind: 'url', target: { url, method } });

  it('resolves a relative URL against the document and keeps an absolute URL unchanged', () => {
    expect(next('../2?b=1')).toEqual(at('https://host/calls/2?b=1'));
    expect(next('')).toEqual(at('https://host/calls/1/twiml?a=1'));
    expect(next('HTTPS://Other:443/a b#rc=3', INLINE, 'get')).toEqual(at('HTTPS://Other:443/a b#rc=3', 'GET'));
  });

  it('keeps the fallback of the call', () => {
    const fallback = { url: 'https://host/calls/1/fallback', method: 'POST' } as const;
    expect(next('/x', { ...DOCUMENT, fallback })).toEqual({ ...at('https://host/x'), fallback });
  });

  it('passes form fields on', () => {
    expect(nextSource({ url: '/x', method: undefined }, DOCUMENT, { DialCallStatus: 'busy' })).toEqual({
      ...at('https://host/x'),
      extra: { DialCallStatus: 'busy' },
    });
  });

  it('rejects a relative URL in a document without a URL', () => {
    expect(() => next('/x', INLINE)).toThrow(expect.objectContaining({ code: 12100 }));
  });
});
