import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { LanguageList, VoiceList } from '../../../../agents/voices/contract.js';
import type { PhoneNumber } from '../../../../identity/accounts/schemas.js';
import { focusField, type useForm } from '../../use-form';
import { AgentField } from '../agents/agent-field';
import type { AgentForm } from '../agents/agent-form';
import { TemplateBuilder } from '../agents/template-builder';
import { ToolsEditor } from '../agents/tools-editor';
import { ConversationSections } from '../conversation-sections';
import { LocalInbox } from './local-inbox';
import { VoicePreview } from './voice-preview';

/** The choices of fields that depend on the service and the account. */
export interface Choices {
  voices: VoiceList['voices'];
  languages: LanguageList['languages'];
  defaultEngine: string;
  numbers: readonly PhoneNumber[];
}

interface SectionProps {
  form: ReturnType<typeof useForm<AgentForm>>;
  choices: Choices;
  /** The engine that would conduct a call with the agent as it is in the form. */
  engine: string;
}

const SECTIONS = [
  ['instruction', 'Instruction'],
  ['voice', 'Voice'],
  ['data', 'Data'],
  ['abilities', 'Abilities'],
  ['phone-calls', 'Calls and webhook'],
  ['storage', 'Storage'],
] as const;

/** All fields of an agent, in sections. */
export function EditorSections(p: SectionProps) {
  const { form } = p;
  return (
    <>
      <nav class="section-links" aria-label="Sections of the agent">
        {SECTIONS.map(([id, title]) => (
          <a key={id} href={`#${id}`}>
            {title}
          </a>
        ))}
      </nav>
      <Instruction {...p} />
      <Section id="voice" title="Voice and conversation" hint="How the agent sounds and listens.">
        <Voice {...p} />
        <AgentField name="ai_disclosure" form={form} />
        <ConversationSections form={form} />
      </Section>
      <Section id="data" title="Data" hint="The values that each call returns to you.">
        <TemplateBuilder
          value={form.values.output_parameters}
          error={form.errors['output_parameters']}
          engine={p.engine}
          onChange={(output_parameters) => form.set({ output_parameters })}
        />
      </Section>
      <Section id="abilities" title="Abilities" hint="Systems and people that the agent can reach during a call.">
        <ToolsEditor tools={form.values.tools} errors={form.errors} onChange={(tools) => form.set({ tools })} />
        <AgentField name="transfer_numbers" form={form} rows={2} />
      </Section>
      <PhoneCalls {...p} />
      <Section id="storage" title="Storage" hint="The parts of a call that remain after its end.">
        <AgentField name="storage" form={form} />
        <AgentField name="redact" form={form} />
      </Section>
    </>
  );
}

function Section(p: { id: string; title: string; hint?: string; children: ComponentChildren }) {
  const heading = useId();
  return (
    <section class="card" id={p.id} aria-labelledby={heading}>
      <h2 id={heading}>{p.title}</h2>
      {p.hint === undefined ? null : <p class="quiet section-hint">{p.hint}</p>}
      {p.children}
    </section>
  );
}

/** An example of an instruction. Its first sentence can be said to the caller. */
const EXAMPLE =
  'This is the practice of Doctor Chen, about your appointment tomorrow at ten. Ask whether the person will come. If not, ask for a better day. Be brief and polite, then say goodbye.';

function Instruction({ form, engine }: SectionProps) {
  return (
    <Section id="instruction" title="Instruction">
      <AgentField name="name" form={form} />
      <AgentField
        name="instruction"
        form={form}
        rows={9}
        placeholder={EXAMPLE}
        hint={
          <>
            Describe what the agent does, and how. The call opens with the first sentence. <code>{'{{name}}'}</code>{' '}
            inserts an input parameter of the request.
          </>
        }
      />
      {engine === 'offline-demo' ? <FirstSentenceHint form={form} /> : null}
    </Section>
  );
}

/** Explains how to open the call with other words, if the first sentence is one about the agent and not for the caller. */
function FirstSentenceHint({ form }: Pick<SectionProps, 'form'>) {
  const { instruction, first_message: firstMessage } = form.values;
  if (!/^\s*you are\b/i.test(instruction) || firstMessage.trim() !== '') return null;
  const focusFirstMessage = () => focusField(document.querySelector<HTMLElement>('[name=first_message]'));
  return (
    <p class="notice" role="status">
      The offline demo says the first sentence to the caller, so it says “You are…”. Enter better words as{' '}
      <button type="button" class="button button-link" onClick={focusFirstMessage}>
        First message
      </button>
      .
    </p>
  );
}

function Voice({ form, choices }: SectionProps) {
  const engine = form.values.engine || choices.defaultEngine;
  const languages = choices.languages.filter(({ engines }) => engines.some((offer) => offer.engine === engine));
  const voices = choices.voices.filter(({ engines }) =>
    engines.some((offer) => offer.engine === engine && offer.languages.includes(form.values.language)),
  );
  const engines = [...new Set(choices.voices.flatMap((voice) => voice.engines.map((offer) => offer.engine)))];
  return (
    <>
      <AgentField
        name="engine"
        form={form}
        options={[
          { value: '', label: `Default (${choices.defaultEngine})` },
          ...engines.map((value) => ({ value, label: value })),
        ]}
      />
      <div class="field-pair">
        <AgentField
          name="language"
          form={form}
          options={languages.map(({ language, name }) => ({ value: language, label: `${name} (${language})` }))}
        />
        <AgentField
          name="voice"
          form={form}
          options={voices.map(({ voice, description }) => ({ value: voice, label: `${voice}: ${description}` }))}
        />
      </div>
      <VoicePreview form={form} />
    </>
  );
}

function PhoneCalls({ form, choices: { numbers } }: SectionProps) {
  return (
    <Section
      id="phone-calls"
      title="Calls and webhook"
      hint="Limits, voicemail, and where the result of a call is sent."
    >
      <AgentField name="voicemail_action" form={form} />
      {form.values.voicemail_action === 'leave_message' ? <AgentField name="voicemail_message" form={form} /> : null}
      {numbers.length === 0 && form.values.phone_number === '' ? null : (
        <AgentField
          name="phone_number"
          form={form}
          options={[
            { value: '', label: 'First number of the account' },
            ...numbers.map(({ phone_number: value }) => ({ value, label: value })),
          ]}
        />
      )}
      <div class="field-pair">
        <AgentField name="max_duration_seconds" form={form} />
        <AgentField name="ring_timeout_seconds" form={form} />
      </div>
      <AgentField name="webhook_url" form={form} placeholder="https://example.com/call-completed" />
      <LocalInbox form={form} />
    </Section>
  );
}
