import { carrierSignalOf } from '../../src/telephony/twilio/reports.js';
import { sidOf } from '../support/sids.js';

const NOW = Date.parse('2026-11-21T10:00:00Z');
const signalOf = (form: Record<string, string | string[]>) => carrierSignalOf(sidOf('CA', 1), form, NOW);

describe('what a status callback tells a call', () => {
  it.each(['queued', 'initiated', 'ringing', 'something new', ''])('%s tells nothing', (CallStatus) => {
    expect(signalOf({ CallStatus })).toBeUndefined();
  });

  it('in-progress is the answer, at the carrier’s own time', () => {
    expect(signalOf({ CallStatus: 'in-progress', Timestamp: 'Sat, 21 Nov 2026 09:59:58 +0000' })).toEqual({
      kind: 'answered',
      carrierSid: sidOf('CA', 1),
      at: NOW - 2_000,
    });
  });

  it.each(['completed', 'busy', 'failed', 'no-answer', 'canceled'])('%s is the end', (CallStatus) => {
    expect(signalOf({ CallStatus, CallDuration: '49', Duration: '1', SipResponseCode: '200' })).toEqual({
      kind: 'ended',
      status: CallStatus,
      carrierSid: sidOf('CA', 1),
      at: NOW,
      durationSeconds: 49,
      sipCode: 200,
    });
  });

  it('a duration of 0 is told, one that is no number is not', () => {
    expect(signalOf({ CallStatus: 'completed', CallDuration: '0' })).toMatchObject({ durationSeconds: 0 });
    for (const CallDuration of ['', '-1', '1.5', '1e9', 'NaN', '99999999999']) {
      expect(signalOf({ CallStatus: 'completed', CallDuration })).not.toHaveProperty('durationSeconds');
    }
  });

  it.each([
    ['human', 'human'],
    ['machine_start', 'voicemail'],
    ['machine_end_beep', 'voicemail'],
    ['fax', 'voicemail'],
    ['unknown', 'unknown'],
  ])('AnsweredBy %s is %s', (AnsweredBy, expected) => {
    expect(signalOf({ CallStatus: 'in-progress', AnsweredBy })?.answeredBy).toBe(expected);
  });

  it('a time that cannot be read is now, and a field given twice is absent', () => {
    expect(signalOf({ CallStatus: 'in-progress', Timestamp: 'noon', AnsweredBy: ['human', 'fax'] })).toEqual({
      kind: 'answered',
      carrierSid: sidOf('CA', 1),
      at: NOW,
    });
  });
});
