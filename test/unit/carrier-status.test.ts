import { parseCarrierSignal } from '../../src/telephony/twilio/reports.js';
import { sidOf } from '../support/sids.js';

const NOW = Date.parse('2026-11-21T10:00:00Z');
const signalOf = (form: Record<string, string | string[]>) => parseCarrierSignal(sidOf('CA', 1), form, NOW);

describe('the signal of a status callback', () => {
  it.each(['queued', 'initiated', 'ringing', 'something new', ''])('is absent for the status "%s"', (CallStatus) => {
    expect(signalOf({ CallStatus })).toBeUndefined();
  });

  it('is an answer for in-progress, with the carrier’s timestamp', () => {
    expect(signalOf({ CallStatus: 'in-progress', Timestamp: 'Sat, 21 Nov 2026 09:59:58 +0000' })).toEqual({
      kind: 'answered',
      carrierSid: sidOf('CA', 1),
      at: NOW - 2_000,
    });
  });

  it.each(['completed', 'busy', 'failed', 'no-answer', 'canceled'])('is an end for %s', (CallStatus) => {
    expect(signalOf({ CallStatus, CallDuration: '49', Duration: '1', SipResponseCode: '200' })).toEqual({
      kind: 'ended',
      status: CallStatus,
      carrierSid: sidOf('CA', 1),
      at: NOW,
      durationSeconds: 49,
      sipCode: 200,
    });
  });

  it('has a duration of 0 but no duration that is not a whole number of seconds', () => {
    expect(signalOf({ CallStatus: 'completed', CallDuration: '0' })).toMatchObject({ durationSeconds: 0 });
    for (const CallDuration of ['', '-1', '1.5', '1e9', 'NaN', '99999999999']) {
      expect(signalOf({ CallStatus: 'completed', CallDuration })).not.toHaveProperty('durationSeconds');
    }
  });

  it.each([
    ['human', 'human'],
    ['machine_start', 'voicemail'],
    ['machine_end_beep', 'voicemail'],
    ['machine_end_silence', 'voicemail'],
    ['machine_end_other', 'voicemail'],
    ['fax', 'voicemail'],
    ['unknown', 'unknown'],
  ])('maps AnsweredBy %s to %s', (AnsweredBy, expected) => {
    expect(signalOf({ CallStatus: 'in-progress', AnsweredBy })?.answeredBy).toBe(expected);
  });

  it('uses the current time for an unreadable timestamp and ignores a repeated field', () => {
    expect(signalOf({ CallStatus: 'in-progress', Timestamp: 'noon', AnsweredBy: ['human', 'fax'] })).toEqual({
      kind: 'answered',
      carrierSid: sidOf('CA', 1),
      at: NOW,
    });
  });
});
