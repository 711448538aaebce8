import { retryAfterOf } from '../../src/voice/models/http-api.js';

const waitOf = (headers: Record<string, string>) => retryAfterOf({ get: (name) => headers[name] ?? null });

/** The forms that `openai` 7.57.0 reads (`client.js`, `retryRequest`). */
describe('the time after which a provider may be asked again', () => {
  it.each<[string, Record<string, string>, number | undefined]>([
    ['in milliseconds', { 'retry-after-ms': '250' }, 250],
    ['in milliseconds rather than in seconds', { 'retry-after-ms': '250', 'retry-after': '2' }, 250],
    ['in seconds', { 'retry-after': '1.5' }, 1_500],
    ['in seconds if the milliseconds are no number', { 'retry-after-ms': 'soon', 'retry-after': '1' }, 1_000],
    ['as a date in the past', { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, 0],
    ['as a date far ahead', { 'retry-after': 'Wed, 21 Oct 2065 07:28:00 GMT' }, 2_000],
    ['in many seconds', { 'retry-after': '60' }, 2_000],
    ['in other words', { 'retry-after': 'later' }, undefined],
    ['not at all', {}, undefined],
  ])('is read %s', (_, headers, expected) => {
    expect(waitOf(headers)).toBe(expected);
  });

  it('is read as a date', () => {
    const now = jest.spyOn(Date, 'now').mockReturnValue(Date.parse('2026-11-23T10:00:00Z'));
    expect(waitOf({ 'retry-after': 'Mon, 23 Nov 2026 10:00:01 GMT' })).toBe(1_000);
    now.mockRestore();
  });
});
