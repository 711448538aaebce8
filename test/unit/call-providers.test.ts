import { callView, type CallRecords } from '../../src/calls/views/call-views.js';
import { providerLabel } from '../../src/portal/app/labels.js';

const startedAt = new Date('2026-11-21T10:00:04.000Z');
const first = { provider: 'openai', model: 'gpt-6-luna', number: 1 };
const second = { provider: 'openai', model: 'my-deployment', number: 2 };

function viewOf(served: NonNullable<CallRecords['result']>['served']) {
  const records = {
    call: { _id: 'call_1', createdAt: startedAt, updatedAt: startedAt, status: 'COMPLETED', microsPerSecond: 1 },
    request: null,
    result: { _id: 'call_1', startedAt, ...(served === undefined ? {} : { served }) },
    carrierEvents: [],
    money: { windows: [] },
    attempts: [],
  };
  return callView(records as unknown as CallRecords, 'https://calls.example.com');
}

describe('the providers of a call', () => {
  it('are shown in order, and each that took over is in the timeline', () => {
    const { served_by: servedBy, timeline } = viewOf([
      { stage: 'llm', ...first, fromMs: 900 },
      { stage: 'tts', provider: 'openai', model: 'kokoro', number: 2, fromMs: 1_200 },
      { stage: 'llm', ...second, fromMs: 21_400 },
    ]);
    expect(servedBy?.[2]).toEqual({ stage: 'llm', ...second, from_ms: 21_400 });
    expect(timeline.filter(({ event }) => event === 'provider_switched')).toEqual([
      {
        at: '2026-11-21T10:00:05.200Z',
        source: 'media',
        event: 'provider_switched',
        details: { stage: 'tts', provider: 'openai', model: 'kokoro', number: 2 },
      },
      {
        at: '2026-11-21T10:00:25.400Z',
        source: 'media',
        event: 'provider_switched',
        details: { stage: 'llm', ...second },
      },
    ]);
    expect(servedBy?.map(providerLabel).join(', ')).toBe(
      'Language model: openai gpt-6-luna, Text to speech: openai kokoro (alternative 2), Language model: openai my-deployment (alternative 2)',
    );
  });

  it('are absent for an engine without providers', () => {
    expect(viewOf(undefined)).not.toHaveProperty('served_by');
  });
});
