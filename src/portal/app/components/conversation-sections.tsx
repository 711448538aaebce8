import { useEffect, useState } from 'preact/hooks';
import { CONVERSATION_FIELDS } from '../../../agents/fields/conversation-fields.js';
import type { FieldDefinition, SettingsSection } from '../../../agents/fields/field-definition.js';
import { labelOf } from '../labels';
import type { useForm } from '../use-form';
import { AgentField } from './agents/agent-field';
import type { AgentForm } from './agents/agent-form';
import { PronunciationsEditor } from './agents/pronunciations-editor';

type Form = ReturnType<typeof useForm<AgentForm>>;
type SettingName = keyof typeof CONVERSATION_FIELDS;

/** The settings of the agent's conversation, in collapsed sections, because most agents need none of them. */
export function ConversationSections({ form }: { form: Form }) {
  return (
    <>
      {SECTIONS.map((section) => (
        <Section key={section} form={form} section={section} />
      ))}
    </>
  );
}

const SECTIONS = ['conversation', 'speech', 'listening'] as const satisfies SettingsSection[];
const NAMES = Object.keys(CONVERSATION_FIELDS) as SettingName[];

/** A collapsible group of fields, which shows how many of them are set and opens when one was rejected. */
function Section({ form, section }: { form: Form; section: SettingsSection }) {
  const { errors, values } = form;
  const names = NAMES.filter((name) => CONVERSATION_FIELDS[name].form.section === section);
  const [open, setOpen] = useState(false);
  useEffect(() => {
    if (names.some((name) => errors[name] !== undefined)) setOpen(true);
  }, [errors]);
  const set = names.filter((name) => isSet(name, values[name])).length;
  return (
    <details class="tool" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <strong>{labelOf(section)}</strong> <span class="quiet">{set === 0 ? 'Defaults' : `${set} changed`}</span>
      </summary>
      {names.map((name) =>
        name === 'pronunciations' ? (
          <PronunciationsEditor key={name} {...form.field(name)} />
        ) : (
          <AgentField key={name} name={name} form={form} />
        ),
      )}
    </details>
  );
}

function isSet(name: SettingName, value: AgentForm[SettingName]): boolean {
  const definition: FieldDefinition = CONVERSATION_FIELDS[name];
  if (definition.kind === 'yesNo') return value !== definition.absentMeans;
  return Array.isArray(value) ? value.length > 0 : value !== '';
}
