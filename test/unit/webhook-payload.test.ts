import { CompletionPayload } from '../../src/webhooks/completion.js';
import { END_REASONS } from '../../src/kernel/call-state.js';
import type { CallDocument } from '../../src/calls/call-model.js';
import { completionPayload } from '../../src/webhooks/payload.js';

const BASE = 'https://calls.example.com';
const CALL_ID = 'call_01JD0000000000000000000000';

/** A call that was never answered, without any optional field. */
const unanswered: CallDocument = {
  _id: CALL_ID,
  sequence: 3,
  accountId: 'acct_01JD0000000000000000000000',
  mode: 'live',
  direction: 'outbound',
  status: 'FAILED',
  endReason: 'busy',
  fromPhoneNumber: '+12025550199',
  toPhoneNumber: '+12025550101',
  agentId: 'agent_tmp_01JD0000000000000000000000',
  inputParameters: '{}',
  externalCallId: '',
  createdAt: new Date('2026-11-21T10:00:00.000Z'),
  updatedAt: new Date('2026-11-21T10:00:09.000Z'),
  endTime: new Date('2026-11-21T10:00:08.000Z'),
  durationSeconds: 0,
  costMicros: 0,
};

const answered: CallDocument = {
  ...unanswered,
  status: 'COMPLETED',
  endReason: 'callee_hangup',
  answeredBy: 'human',
  agentName: 'Reception',
  inputParameters: '{"name":"Ada"}',
  externalCallId: 'order-7',
  startTime: new Date('2026-11-21T10:00:03.000Z'),
  endTime: new Date('2026-11-21T10:00:46.000Z'),
  durationSeconds: 43,
  costMicros: 107_500,
  summary: 'Ada confirmed.',
  transcription: 'Agent: Hello.',
  outputParameters: '{"confirmed":true}',
  hasRecording: true,
};

const ALWAYS_STRINGS = [
  'call_id',
  'status',
  'call_direction',
  'from_phone_number',
  'to_phone_number',
  'agent_id',
  'created_at',
  'updated_at',
  'start_time',
  'end_time',
  'summary',
  'input_parameters',
  'external_call_id',
];

/** The payload as the webhook endpoint receives it. */
function sent(call: CallDocument): Record<string, unknown> {
  return JSON.parse(JSON.stringify(completionPayload(call, BASE))) as Record<string, unknown>;
}

function without(call: CallDocument, ...fields: (keyof CallDocument)[]): CallDocument {
  return Object.fromEntries(
    Object.entries(call).filter(([name]) => !fields.includes(name as keyof CallDocument)),
  ) as unknown as CallDocument;
}

describe('completion payload', () => {
  it.each(ALWAYS_STRINGS)('has %s as a string for answered and unanswered calls', (field) => {
    for (const call of [answered, unanswered]) expect(typeof sent(call)[field]).toBe('string');
  });

  it('matches the OpenAPI document, without additional fields', () => {
    for (const call of [answered, unanswered]) {
      expect(CompletionPayload.strict().safeParse(sent(call))).toMatchObject({ success: true });
    }
  });

  it('contains all fields of an answered call', () => {
    expect(sent(answered)).toEqual({
      call_id: CALL_ID,
      status: 'COMPLETED',
      call_direction: 'outbound',
      from_phone_number: '+12025550199',
      to_phone_number: '+12025550101',
      agent_id: 'agent_tmp_01JD0000000000000000000000',
      agent_name: 'Reception',
      created_at: '2026-11-21T10:00:00.000Z',
      updated_at: '2026-11-21T10:00:09.000Z',
      start_time: '2026-11-21T10:00:03.000Z',
      end_time: '2026-11-21T10:00:46.000Z',
      duration_seconds: 43,
      recording_url: `${BASE}/calls/${CALL_ID}/recording`,
      summary: 'Ada confirmed.',
      transcription: 'Agent: Hello.',
      input_parameters: '{"name":"Ada"}',
      output_parameters: '{"confirmed":true}',
      external_call_id: 'order-7',
      cost: 0.1075,
      end_reason: 'callee_hangup',
      answered_by: 'human',
      mode: 'live',
    });
  });

  it('omits optional fields of an unanswered call, without null, and has no cost', () => {
    const payload = sent(unanswered);
    for (const field of ['agent_name', 'recording_url', 'transcription', 'output_parameters', 'answered_by']) {
      expect(payload).not.toHaveProperty(field);
    }
    expect(Object.values(payload)).not.toContain(null);
    expect(payload).toMatchObject({ cost: 0, duration_seconds: 0, end_reason: 'busy' });
  });

  it('uses created_at as start_time of an unanswered call', () => {
    expect(sent(unanswered)['start_time']).toBe(sent(unanswered)['created_at']);
  });

  it('falls back to updated_at for end_time', () => {
    expect(sent(without(unanswered, 'endTime'))['end_time']).toBe('2026-11-21T10:00:09.000Z');
  });

  it('never has an end_time before start_time, although carriers report whole seconds', () => {
    const createdAt = new Date('2026-11-21T10:00:02.238Z');
    const call = { ...unanswered, createdAt, endTime: new Date('2026-11-21T10:00:02.000Z') };
    expect(sent(call)).toMatchObject({ start_time: createdAt.toISOString(), end_time: createdAt.toISOString() });
  });

  it('has "" for external_call_id and "{}" for input_parameters if the call has none', () => {
    expect(sent(without(unanswered, 'externalCallId', 'inputParameters'))).toMatchObject({
      external_call_id: '',
      input_parameters: '{}',
    });
  });

  it.each(END_REASONS)('has a default summary if a call that ended with %s has none', (endReason) => {
    for (const call of [unanswered, without(answered, 'summary'), { ...answered, summary: '' }]) {
      expect(sent({ ...call, endReason })['summary']).toMatch(/^[A-Z].+[a-z]\.$/);
    }
  });

  it('has the status CANCELLED unchanged', () => {
    expect(sent({ ...unanswered, status: 'CANCELLED', endReason: 'api_hangup' })['status']).toBe('CANCELLED');
  });

  it('has the exact cost in USD', () => {
    expect(sent({ ...answered, costMicros: 2_500 })['cost']).toBe(0.0025);
    expect(sent({ ...answered, costMicros: 36_000_000 })['cost']).toBe(36);
  });

  it.each(['IDLE', 'RINGING', 'IN_PROGRESS'] as const)('does not exist while a call is %s', (status) => {
    expect(() => completionPayload({ ...unanswered, status }, BASE)).toThrow(status);
  });
});
