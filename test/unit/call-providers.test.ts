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

  it('switch once when pipeline continues a call of openai-realtime', () => {
    const { timeline } = viewOf([
      { stage: 'realtime', provider: 'openai', model: 'gpt-realtime-2.1', number: 1, fromMs: 400 },
      { stage: 'llm', ...first, fromMs: 5_000 },
      { stage: 'tts', provider: 'elevenlabs', model: 'flash', number: 1, fromMs: 5_400 },
      { stage: 'stt', provider: 'deepgram', model: 'nova-3', number: 1, fromMs: 9_000 },
    ]);
    expect(timeline.filter(({ event }) => event === 'provider_switched')).toMatchObject([
      { at: '2026-11-21T10:00:09.000Z', details: { stage: 'llm', ...first } },
    ]);
  });

  it('do not switch if only realtime, or only pipeline, served the call', () => {
    const events = (served: Parameters<typeof viewOf>[0]) => viewOf(served).timeline.map(({ event }) => event);
    const realtime = { stage: 'realtime', provider: 'openai', model: 'gpt-realtime-2.1', number: 1, fromMs: 400 };
    expect(events([{ ...realtime, stage: 'realtime' }])).not.toContain('provider_switched');
    expect(events([{ stage: 'llm', ...first, fromMs: 400 }])).not.toContain('provider_switched');
  });

  it('are absent for an engine without providers', () => {
    expect(viewOf(undefined)).not.toHaveProperty('served_by');
  });
});
