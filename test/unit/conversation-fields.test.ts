import { AGENT_FIELD_LIST, toStored } from '../../src/agents/agent-definition.js';
import { checkAgentChanges, checkAgentFields } from '../../src/agents/agent-fields.js';
import { snapshotOfAgent } from '../../src/agents/agent-snapshot.js';
import { CONVERSATION_FIELDS } from '../../src/agents/fields/conversation-fields.js';
import { conversationSettingsOf } from '../../src/agents/fields/settings-rules.js';
import type { StoredAgentFields } from '../../src/agents/model.js';
import { AgentChangesBody, NewAgentBody } from '../../src/agents/schemas.js';
import { buildEngineCall } from '../../src/voice/session/engine-call.js';
import { EVERY_SETTING } from '../support/conversation-settings.js';

const NEW = { name: 'A', instruction: 'B' };
const DOCUMENT = { _id: 'agent_1', accountId: 'acct_1', createdAt: new Date(), updatedAt: new Date() };
const STORED = { ...NEW, voice: 'amber', language: 'en-US', maxDurationSeconds: 60, ringTimeoutSeconds: 30 };

describe('the settings of a conversation', () => {
  it('are optional fields of an agent that each call keeps', () => {
    expect(Object.keys(EVERY_SETTING)).toEqual(Object.keys(CONVERSATION_FIELDS));
    for (const { name, presence, inCall } of AGENT_FIELD_LIST.filter((field) => field.name in EVERY_SETTING)) {
      expect([name, presence, inCall]).toEqual([name, 'optional', true]);
    }
    expect(NewAgentBody.parse({ ...NEW, ...EVERY_SETTING })).toEqual({ ...NEW, ...EVERY_SETTING });
    const removed = Object.fromEntries(Object.keys(EVERY_SETTING).map((name) => [name, null]));
    expect(AgentChangesBody.parse(removed)).toEqual(removed);
  });

  it('reach the engine with their stored names, as they were when the call was requested', () => {
    const stored = toStored(EVERY_SETTING);
    const agent = { ...(checkAgentFields({ ...STORED, ...stored }) as Omit<StoredAgentFields, 'tools'>), ...DOCUMENT };
    const call = { _id: 'call_1', agent: snapshotOfAgent(agent), inputParameters: '{}', direction: 'outbound' };
    const { settings } = buildEngineCall(call as Parameters<typeof buildEngineCall>[0], false);
    expect(settings).toEqual(stored);
    expect(conversationSettingsOf({ temperature: 0, model: undefined })).toEqual({ temperature: 0 });
  });

  it.each([
    ['model', 'gpt 6', /^model must have 1 to 128 letters, digits or /],
    ['model', '../models', /^model must have/],
    ['model', 'm'.repeat(129), /^model must have/],
    ['temperature', 2.1, /^temperature must be a number from 0 to 2\.$/],
    ['temperature', '1', /^temperature must be a number/],
    ['reasoning_effort', 'huge', /^reasoning_effort must be one of none, minimal/],
    ['voice_id', '../voices/x', /^voice_id must have/],
    ['voice_id', 'a?b=c', /^voice_id must have/],
    ['speech_speed', 0.4, /^speech_speed must be a number from 0\.5 to 2\.$/],
    ['keyterms', 'Callwright', /^keyterms must be a list of strings\.$/],
    ['keyterms', Array.from({ length: 26 }, () => 'a'), /^keyterms must have at most 25 terms\.$/],
    ['keyterms', ['a'.repeat(51)], /^keyterms: a term must have 1 to 50 characters\.$/],
    ['keyterms', ['a\nb'], /^keyterms: a term must not contain control characters/],
    ['end_of_turn_silence_ms', 199, /^end_of_turn_silence_ms must be a whole number from 200 to 3000\.$/],
    ['end_of_turn_silence_ms', 500.5, /whole number/],
    ['end_of_turn_eagerness', 'eager', /must be one of low, medium, high, auto/],
    ['end_of_turn_confidence', 0.95, /must be a number from 0\.5 to 0\.9/],
    ['vad_threshold', -0.1, /must be a number from 0 to 1/],
    ['interruption_min_ms', 2_001, /must be a whole number from 0 to 2000/],
    ['interruption_min_words', 11, /must be a whole number from 0 to 10/],
    ['resume_after_noise', 'yes', /must be true or false/],
    ['noise_reduction', 'on', /must be one of off, near_field, far_field/],
    ['first_speaker', 'nobody', /must be one of agent, caller/],
    ['background_sound', 'beach', /must be one of off, room, office/],
    ['first_message', 'a'.repeat(1_001), /must have at most 1000 characters/],
    ['pronunciations', [{ text: 'Nginx' }], /^pronunciations: spoken is required\.$/],
    ['pronunciations', [{ text: '', spoken: 'x' }], /^pronunciations: text must have 1 to 100 characters\.$/],
    ['pronunciations', ['Nginx'], /^pronunciations must be a list of objects of text and spoken\.$/],
  ])('are rejected with a bad %s (%#)', (field, value, sentence) => {
    const fault = () => checkAgentChanges(toStored({ [field]: value }));
    expect(fault).toThrow(expect.objectContaining({ code: 'MISSING_PARAMS' }) as Error);
    expect(fault).toThrow(sentence);
    expect(NewAgentBody.safeParse({ ...NEW, [field]: value }).success).toBe(false);
  });

  it.each([
    ['model', 'meta-llama/Llama-3.3-70B-Instruct'],
    ['model', 'ft:gpt-6-luna:acme::8xY2'],
    ['voice_id', 'JBFqnCBsd6RMkjVDRZzb'],
    ['voice_id', 'af_bella+af_sky'],
  ])('accept the %s %s', (field, value) => {
    expect(NewAgentBody.safeParse({ ...NEW, [field]: value }).success).toBe(true);
  });
});
