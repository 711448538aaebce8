import { callView, type CallRecords } from '../../src/calls/views/call-views.js';

const AT = new Date('2026-11-23T10:00:00Z');

describe('the timeline of a call', () => {
  it('says in plain words which provider failed, how, and in which request', () => {
    const records = {
      call: { _id: 'call_1', createdAt: AT, updatedAt: AT, changes: [] },
      request: null,
      result: {
        startedAt: AT,
        failures: [
          {
            at: new Date(AT.getTime() + 1_000),
            part: 'recogniser',
            what: 'the speech-to-text provider rejected the connection with status 429',
            provider: 'deepgram',
            status: 429,
            requestId: '1f-2',
            message: 'Too many requests.',
          },
          { at: new Date(AT.getTime() + 2_000), part: 'voice', what: 'the text-to-speech provider returned no audio' },
          { at: new Date(AT.getTime() + 3_000), part: 'realtime', what: 'the provider timed out', provider: 'openai' },
        ],
      },
      carrierEvents: [],
      money: { windows: [] },
      attempts: [],
    } as unknown as CallRecords;
    expect(callView(records, 'https://calls.example.com').timeline.slice(2)).toEqual([
      {
        at: '2026-11-23T10:00:01.000Z',
        source: 'media',
        event: 'provider_failed',
        details: {
          stage: 'stt',
          reason: 'the speech-to-text provider rejected the connection with status 429',
          provider: 'deepgram',
          status: 429,
          request_id: '1f-2',
          message: 'Too many requests.',
        },
      },
      {
        at: '2026-11-23T10:00:02.000Z',
        source: 'media',
        event: 'provider_failed',
        details: { stage: 'tts', reason: 'the text-to-speech provider returned no audio' },
      },
      {
        at: '2026-11-23T10:00:03.000Z',
        source: 'media',
        event: 'provider_failed',
        details: { stage: 'realtime', reason: 'the provider timed out', provider: 'openai' },
      },
    ]);
  });
});
