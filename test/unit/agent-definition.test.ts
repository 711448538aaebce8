import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { AGENT_FIELD_LIST, AGENT_FIELDS, toPublic, toStored } from '../../src/agents/agent-definition.js';
import { CONVERSATION_FIELDS } from '../../src/agents/fields/conversation-fields.js';
import { checkAgentChanges, checkAgentFields } from '../../src/agents/agent-fields.js';
import { snapshotOfAgent } from '../../src/agents/agent-snapshot.js';
import { agentSchema } from '../../src/agents/model.js';
import { Agent, AgentChangesBody, NewAgentBody } from '../../src/agents/schemas.js';
import { clearOption, withAgentFields } from '../../src/cli/agent-options.js';
import { ROOT } from '../structure/sources.js';

const NAMES = Object.keys(AGENT_FIELDS);

describe('the field definitions of an agent', () => {
  it('match the request and response schemas of the API', () => {
    expect(Object.keys(NewAgentBody.shape).toSorted()).toEqual(NAMES.toSorted());
    expect(Object.keys(AgentChangesBody.shape).toSorted()).toEqual(NAMES.toSorted());
    expect(Object.keys(Agent.shape)).toEqual(expect.arrayContaining(NAMES));
  });

  it('match the MongoDB schema', () => {
    for (const { stored, presence } of AGENT_FIELD_LIST) {
      expect(agentSchema.path(stored)).toBeDefined();
      expect(agentSchema.requiredPaths().includes(stored)).toBe(presence !== 'optional');
    }
  });

  it('have an option of the command line for every field', () => {
    const options = withAgentFields(new Command()).options.map(({ long }) => long);
    for (const { name, option } of AGENT_FIELD_LIST.filter(({ name: each }) => each !== 'name')) {
      expect([name, options]).toEqual([name, expect.arrayContaining([`--${option.name}`])]);
    }
    expect(clearOption().argChoices).toContain('webhook-url');
  });

  it('have a control in the portal’s editor for every field', () => {
    const [editor = '', sections = ''] = ['studio/editor-sections', 'conversation-sections'].map((file) =>
      readFileSync(join(ROOT, `src/portal/app/components/${file}.tsx`), 'utf8'),
    );
    const controls = Array.from(editor.matchAll(/<AgentField\s+name="(\w+)"/g), ([, name = '']) => name);
    const settings = Object.keys(CONVERSATION_FIELDS);
    expect([...controls, ...settings, 'output_parameters', 'tools'].toSorted()).toEqual(NAMES.toSorted());
    expect(editor).toMatch(/<ConversationSections[^]*<TemplateBuilder[^]*<ToolsEditor/);
    expect(sections).toMatch(/<PronunciationsEditor[^]*<AgentField key=\{name\} name=\{name\}/);
  });

  it('map public names to stored names and back', () => {
    const values = Object.fromEntries(NAMES.map((name, index) => [name, index]));
    expect(toPublic(toStored(values))).toEqual(values);
    expect(toStored({ ...values, account_id: 'x', name: undefined })).not.toHaveProperty('name');
  });
});

describe('the validation of an agent', () => {
  const agent = {
    name: 'A',
    instruction: 'B',
    voice: 'amber',
    language: 'en-US',
    maxDurationSeconds: 60,
    ringTimeoutSeconds: 30,
  };

  it('applies the same rules to API requests and to other writers', () => {
    for (const [field, bad] of [
      ['name', 'a\u0000b'],
      ['instruction', 'a\u0000b'],
      ['output_parameters', '{"__proto__":1}'],
      ['output_parameters', `{"a":${'['.repeat(40)}${']'.repeat(40)}}`],
      ['webhook_url', 'https://example.com/\u0000'],
      ['language', `en-${'a'.repeat(40)}`],
    ] as const) {
      const expectedError = {
        code: 'MISSING_PARAMS',
        details: { fields: { [field]: expect.stringMatching(`^${field} `) } },
      };
      expect(NewAgentBody.safeParse({ name: 'A', instruction: 'B', [field]: bad }).success).toBe(false);
      const { [field]: _good, ...rest } = agent as Record<string, unknown>;
      expect(() => checkAgentFields({ ...rest, ...toStored({ [field]: bad }) })).toThrow(
        expect.objectContaining(expectedError) as Error,
      );
    }
  });

  it.each([
    ['storage', 'no_words', /^storage must be one of everything, no_recording, no_transcript, outcome_only\.$/],
    ['redact', 'card_numbers', /^redact must be a list of card_numbers, phone_numbers, email_addresses\./],
    ['redact', ['names'], /^redact must be a list of card_numbers/],
    [
      'redact',
      ['card_numbers', 'card_numbers', 'card_numbers', 'card_numbers'],
      /^redact must have at most 3 entries\.$/,
    ],
  ])('rejects a bad %s (%#)', (field, value, sentence) => {
    expect(() => checkAgentChanges(toStored({ [field]: value }))).toThrow(sentence);
  });

  it('keeps storage mode and redaction in the snapshot of an agent, each kind once', () => {
    const { redact } = checkAgentFields({ ...agent, redact: ['phone_numbers', 'phone_numbers'] });
    expect(redact).toEqual(['phone_numbers']);
    const stored = { ...agent, redact: ['phone_numbers' as const], storage: 'outcome_only' as const };
    const document = { ...stored, _id: 'agent_1', accountId: 'acct_1', createdAt: new Date(), updatedAt: new Date() };
    expect(snapshotOfAgent(document)).toMatchObject({ redact: ['phone_numbers'], storage: 'outcome_only' });
  });

  it('normalizes text and language tags the same way everywhere', () => {
    const untidy = { ...agent, instruction: ' Ask. ', language: 'EN-us' };
    const tidy = { instruction: 'Ask.', language: 'en-US' };
    expect(checkAgentFields(untidy)).toEqual({ ...agent, ...tidy });
    expect(NewAgentBody.parse({ name: 'A', instruction: ' Ask. ', language: 'EN-us' })).toMatchObject(tidy);
  });

  it('checks the fields of a change without the others', () => {
    expect(checkAgentChanges({ name: ' B ', webhookUrl: null })).toEqual({ name: 'B', webhookUrl: null });
    expect(() => checkAgentChanges({ instruction: null })).toThrow('instruction must be a string');
  });
});
