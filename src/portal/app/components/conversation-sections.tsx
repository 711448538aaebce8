import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { AGENT_FIELDS, type AgentFieldName } from '../../../agents/agent-definition.js';
import type { FieldDefinition } from '../../../agents/fields/field-definition.js';
import type { AgentForm } from './agents/agent-form';
import type { useForm } from '../use-form';
import { AgentField } from './agents/agent-field';
import { PronunciationsEditor } from './agents/pronunciations-editor';

type Form = ReturnType<typeof useForm<AgentForm>>;

/** The settings of the agent's conversation, in collapsed sections, because most agents need none of them. */
export function ConversationSections({ form }: { form: Form }) {
  return (
    <>
      <Section title="Conversation" form={form} names={CONVERSATION}>
        <AgentField name="first_speaker" form={form} />
        <AgentField name="first_message" form={form} rows={3} />
        <AgentField name="model" form={form} />
        <AgentField name="temperature" form={form} />
        <AgentField name="reasoning_effort" form={form} />
      </Section>
      <Section title="Speech" form={form} names={SPEECH}>
        <AgentField name="voice_id" form={form} />
        <AgentField name="speech_speed" form={form} />
        <AgentField name="background_sound" form={form} />
        <PronunciationsEditor {...form.field('pronunciations')} />
      </Section>
      <Section title="Listening" form={form} names={LISTENING}>
        <AgentField name="keyterms" form={form} rows={3} />
        <AgentField name="noise_reduction" form={form} />
        <AgentField name="vad_threshold" form={form} />
        <AgentField name="end_of_turn_silence_ms" form={form} />
        <AgentField name="end_of_turn_eagerness" form={form} />
        <AgentField name="end_of_turn_confidence" form={form} />
        <AgentField name="interruption_min_ms" form={form} />
        <AgentField name="interruption_min_words" form={form} />
        <AgentField name="resume_after_noise" form={form} />
      </Section>
    </>
  );
}

const CONVERSATION = ['first_speaker', 'first_message', 'model', 'temperature', 'reasoning_effort'] as const;
const SPEECH = ['voice_id', 'speech_speed', 'background_sound', 'pronunciations'] as const;
const LISTENING = [
  'keyterms',
  'noise_reduction',
  'vad_threshold',
  'end_of_turn_silence_ms',
  'end_of_turn_eagerness',
  'end_of_turn_confidence',
  'interruption_min_ms',
  'interruption_min_words',
  'resume_after_noise',
] as const;

/** A collapsible group of fields, which shows how many of them are set and opens when one was rejected. */
function Section(p: { title: string; form: Form; names: readonly AgentFieldName[]; children: ComponentChildren }) {
  const { errors, values } = p.form;
  const [open, setOpen] = useState(false);
  useEffect(() => {
    if (p.names.some((name) => errors[name] !== undefined)) setOpen(true);
  }, [errors]);
  const set = p.names.filter((name) => isSet(name, values[name])).length;
  return (
    <details class="tool" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <strong>{p.title}</strong> <span class="quiet">{set === 0 ? 'Defaults' : `${set} changed`}</span>
      </summary>
      {p.children}
    </details>
  );
}

function isSet(name: AgentFieldName, value: AgentForm[AgentFieldName]): boolean {
  const definition: FieldDefinition = AGENT_FIELDS[name];
  if (definition.kind === 'yesNo') return value !== definition.absentMeans;
  return Array.isArray(value) ? value.length > 0 : value !== '';
}
