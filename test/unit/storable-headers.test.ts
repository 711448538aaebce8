import { storableHeaders } from '../../src/webhooks/storable-headers';

const stored = (headers: Parameters<typeof storableHeaders>[0]) => storableHeaders(headers).headers;

describe('stored headers', () => {
  it.each(['authorization', 'set-cookie', 'X-Api-Key', 'webhook-signature', 'x-session-id', 'www-authenticate'])(
    'have no value of %s',
    (name) => {
      expect(stored({ [name]: 'hunter2' })).toEqual([{ name, value: '[not stored]' }]);
    },
  );

  it.each(['x-jwt', 'X-Body-HMAC', 'bearer', 'x-otp', 'ticket', 'x-card-pin'])('have no value of %s', (name) => {
    expect(stored({ [name]: 'hunter2' })).toEqual([{ name, value: '[not stored]' }]);
  });

  it.each([
    ['/login?token=hunter2', '/login?[not stored]'],
    ['https://me:hunter2@example.com/a#code=hunter2', 'https://[not stored]@example.com/a?[not stored]'],
    ['<https://example.com/?code=hunter2>; rel=next', '<https://example.com/?[not stored]>; rel=next'],
    ['0;url=//hunter2@example.com/a', '0;url=//[not stored]@example.com/a'],
    ['https://example.com/a', 'https://example.com/a'],
  ])('have neither query nor user info of the URL in %s', (value, shown) => {
    expect(stored({ location: value })).toEqual([{ name: 'location', value: shown }]);
  });

  it('have each value of a repeated header, and none of an absent one', () => {
    expect(stored({ via: ['a', 'b'], age: undefined })).toEqual([
      { name: 'via', value: 'a' },
      { name: 'via', value: 'b' },
    ]);
  });

  it('are limited in number and size, so that 204 attempts fit into a response', () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`x-${index}`, '1']));
    expect(storableHeaders(many)).toMatchObject({ headers: { length: 32 }, leftOut: 468 });
    const long = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`x-${index}`.repeat(90), 'x'.repeat(900)]),
    );
    const { headers, leftOut } = storableHeaders(long);
    expect(headers[0]?.name).toHaveLength(64);
    expect(headers[0]?.value).toHaveLength(32);
    expect(leftOut).toBe(500 - headers.length);
    expect(JSON.stringify(headers).length).toBeLessThan(3_000);
  });

  it('are all stored if some early ones are long', () => {
    const long = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`x-${index}`, 'x'.repeat(900)]));
    const { headers, leftOut } = storableHeaders({ ...long, server: 'acme', 'retry-after': '120' });
    expect(headers.slice(-2)).toEqual([
      { name: 'server', value: 'acme' },
      { name: 'retry-after', value: '120' },
    ]);
    expect(headers[0]?.value).toHaveLength(128);
    expect(leftOut).toBe(0);
    expect(storableHeaders({ 'x-long': 'x'.repeat(900) }).headers[0]?.value).toHaveLength(256);
  });
});
