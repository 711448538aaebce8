import { requestedRange } from '../../src/platform/http/routing/byte-range.js';

describe('the part of a file that a request asks for', () => {
  const file = { bytes: 1_000, etag: '"v1"' };

  it.each([
    [undefined, undefined],
    ['bytes=0-', { first: 0, last: 999 }],
    ['bytes=0-0', { first: 0, last: 0 }],
    ['bytes=100-199', { first: 100, last: 199 }],
    ['Bytes=999-', { first: 999, last: 999 }],
    ['bytes=900-5000', { first: 900, last: 999 }],
    ['bytes=-1', { first: 999, last: 999 }],
    ['bytes=-5000', { first: 0, last: 999 }],
    ['bytes=1000-', 'unsatisfiable'],
    ['bytes=5000-6000', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    // Invalid headers and several ranges are ignored.
    ['bytes=200-100', undefined],
    ['bytes=-', undefined],
    ['bytes=', undefined],
    ['bytes=a-b', undefined],
    ['bytes=0-1,5-6', undefined],
    ['items=0-1', undefined],
    ['bytes=99999999999999999999-', undefined],
  ])('Range: %s', (range, expected) => {
    expect(requestedRange({ range }, file)).toEqual(expected);
  });

  it('is the whole file if it has changed since If-Range', () => {
    expect(requestedRange({ range: 'bytes=0-1', 'if-range': '"v1"' }, file)).toEqual({ first: 0, last: 1 });
    expect(requestedRange({ range: 'bytes=0-1', 'if-range': '"v2"' }, file)).toBeUndefined();
    expect(requestedRange({ range: 'bytes=0-1', 'if-range': 'Wed, 21 Oct 2026 07:28:00 GMT' }, file)).toBeUndefined();
  });
});
