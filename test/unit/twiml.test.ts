import { parseTwiml } from '../../src/telephony/simulator/instructions/twiml.js';

const verb = (name: string, more: object = {}) => ({ name, attributes: {}, children: [], text: '', ...more });

describe('parseTwiml', () => {
  it('reads the response of this service', () => {
    const xml =
      '<?xml version="1.0" encoding="UTF-8"?><Response><Connect><Stream url="wss://h/stream/call_1"/></Connect>' +
      '<Redirect method="POST">https://h/after?a=1&amp;b=2</Redirect></Response>';
    expect(parseTwiml(xml)).toEqual([
      verb('Connect', { children: [verb('Stream', { attributes: { url: 'wss://h/stream/call_1' } })] }),
      verb('Redirect', { attributes: { method: 'POST' }, text: 'https://h/after?a=1&b=2' }),
    ]);
  });

  it('reads comments, CDATA, entities, both kinds of quotes and a byte order mark', () => {
    const xml = `\ufeff<!-- a > b --><Response><Say voice='x "y"' language="a>b"><![CDATA[<1>]]> &#65;&#x42;&lt;</Say></Response>\n`;
    expect(parseTwiml(xml)).toEqual([
      verb('Say', { attributes: { voice: 'x "y"', language: 'a>b' }, text: '<1> AB<' }),
    ]);
  });

  it('reads a response without verbs', () => {
    expect(parseTwiml('<Response/>')).toEqual([]);
    expect(parseTwiml('<Response></Response>')).toEqual([]);
  });

  it.each([
    ['nothing', ''],
    ['no XML', 'hello'],
    ['another root', '<Html/>'],
    ['two roots', '<Response/><Response/>'],
    ['an element that is never closed', '<Response><Say>'],
    ['elements closed in the wrong order', '<Response><A><B></A></B></Response>'],
    ['an extra closing tag', '<Response/></Response>'],
    ['an ampersand', '<Response><Say>a & b</Say></Response>'],
    ['an unknown entity', '<Response><Say>&nbsp;</Say></Response>'],
    ['a document type', '<!DOCTYPE x [<!ENTITY a "b">]><Response/>'],
    ['an attribute without quotes', '<Response><Say a=b/></Response>'],
    ['text beside the root', 'x<Response/>'],
    ['endless nesting', `${'<Response>'.repeat(20)}${'</Response>'.repeat(20)}`],
  ])('rejects %s', (_, xml) => {
    expect(() => parseTwiml(xml)).toThrow(expect.objectContaining({ name: 'TwimlError' }));
  });

  it('rejects a long hostile document within a second', () => {
    const startedAt = performance.now();
    for (const xml of [
      `<Response ${'a'.repeat(100_000)}`,
      `<Response a="${'<'.repeat(100_000)}`,
      '<'.repeat(100_000),
    ]) {
      expect(() => parseTwiml(xml)).toThrow(expect.objectContaining({ name: 'TwimlError' }));
    }
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });
});
