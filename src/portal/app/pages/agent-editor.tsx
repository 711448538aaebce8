import { useLocation, useRoute } from 'preact-iso';
import { useState } from 'preact/hooks';
import type { Agent } from '../../../agents/schemas.js';
import type { PhoneNumber } from '../../../identity/accounts/schemas.js';
import type { LanguageList, VoiceList } from '../../../agents/voices-contract.js';
import { VOICEMAIL_ACTIONS } from '../../../kernel/voicemail.js';
import { webhookEndpoint } from '../../../kernel/webhook-endpoint.js';
import { Confirm } from '../components/dialog';
import { FailingWebhooks } from '../components/failing-webhooks';
import { Failure, Loaded } from '../components/feedback';
import { CheckField, SelectField, SubmitButton, TextArea, TextField } from '../components/fields';
import { LiveCopy } from '../components/live-copy';
import { TemplateBuilder } from '../components/template-builder';
import { TestCall } from '../components/test-call';
import { editedTools, givenTool, ToolsEditor } from '../components/tools-editor';
import { TestBadge } from '../components/values';
import { words } from '../format';
import { Page } from '../layout';
import { usePortal } from '../session';
import type { PageOf } from '../types';
import { useData } from '../use-data';
import { useForm } from '../use-form';

export function AgentEditor() {
  const { api, mode } = usePortal();
  const { params } = useRoute();
  const id = params['id'] ?? '';
  const choices = useData('choices', async (signal) => {
    const [{ voices, default_engine }, { languages }, numbers] = await Promise.all([
      api.get<VoiceList>('/voices', {}, signal),
      api.get<LanguageList>('/languages', {}, signal),
      api.get<PageOf<PhoneNumber>>('/phone_numbers', {}, signal),
    ]);
    return { voices, languages, defaultEngine: default_engine, numbers: numbers.data };
  });
  const agent = useData(id === 'new' ? id : `${mode} ${id}`, (signal) =>
    id === 'new' ? Promise.resolve(undefined) : api.get<Agent>(`/agents/${encodeURIComponent(id)}`, {}, signal),
  );
  if (agent.state === 'loading') return <Page title="Agent">…</Page>;
  return (
    <Page
      title={agent.data?.name ?? (id === 'new' ? 'New agent' : 'Agent')}
      actions={agent.data === undefined ? null : <Actions agent={agent.data} />}
    >
      {agent.data?.webhook_url === undefined ? null : (
        <FailingWebhooks only={webhookEndpoint(agent.data.webhook_url)} />
      )}
      <Loaded of={choices}>
        {(data) =>
          agent.state === 'failed' ? (
            <Failure>{agent.error.message}</Failure>
          ) : (
            <div class="columns">
              <Editor key={id} agent={agent.data} choices={data} />
              {agent.data === undefined ? null : <TestCall agentId={agent.data.agent_id} />}
            </div>
          )
        }
      </Loaded>
    </Page>
  );
}

interface Choices {
  voices: VoiceList['voices'];
  languages: LanguageList['languages'];
  defaultEngine: string;
  numbers: readonly PhoneNumber[];
}

function Editor({ agent, choices }: { agent: Agent | undefined; choices: Choices }) {
  const { api, mode } = usePortal();
  const { route } = useLocation();
  const [saved, setSaved] = useState(false);
  const form = useForm(
    {
      name: agent?.name ?? '',
      instruction: agent?.instruction ?? '',
      engine: agent?.engine ?? '',
      voice: agent?.voice ?? choices.voices[0]?.voice ?? '',
      language: agent?.language ?? choices.languages[0]?.language ?? '',
      ai_disclosure: agent?.ai_disclosure ?? true,
      voicemail_action: agent?.voicemail_action ?? 'hang_up',
      voicemail_message: agent?.voicemail_message ?? '',
      transfer_numbers: (agent?.transfer_numbers ?? []).join('\n'),
      tools: editedTools(agent?.tools),
      phone_number: agent?.phone_number ?? '',
      output_parameters: agent?.output_parameters ?? '',
      max_duration_seconds: String(agent?.max_duration_seconds ?? 600),
      ring_timeout_seconds: String(agent?.ring_timeout_seconds ?? 30),
      webhook_url: agent?.webhook_url ?? '',
    },
    async (values) => {
      setSaved(false);
      const body = {
        ...values,
        max_duration_seconds: Number(values.max_duration_seconds),
        ring_timeout_seconds: Number(values.ring_timeout_seconds),
        output_parameters: orNone(values.output_parameters, agent),
        webhook_url: orNone(values.webhook_url, agent),
        engine: orNone(values.engine, agent),
        voicemail_message: orNone(values.voicemail_message, agent),
        phone_number: orNone(values.phone_number, agent),
        tools: orNone(values.tools.map(givenTool), agent),
        transfer_numbers: values.transfer_numbers.split(/\s+/).filter(Boolean),
      };
      if (agent === undefined) {
        const made = await api.post<Agent>('/agents', body);
        route(`/portal/agents/${made.agent_id}`, true);
      } else {
        const { tools } = await api.patch<Agent>(`/agents/${agent.agent_id}`, body);
        // What was typed as a secret is stored now, and not shown again.
        form.set({ tools: editedTools(tools, values.tools) });
        setSaved(true);
      }
    },
  );
  const engine = form.values.engine || choices.defaultEngine;
  const languages = choices.languages.filter(({ engines }) => engines.some((offer) => offer.engine === engine));
  const voices = choices.voices.filter(({ engines }) =>
    engines.some((offer) => offer.engine === engine && offer.languages.includes(form.values.language)),
  );
  const engines = [...new Set(choices.voices.flatMap((voice) => voice.engines.map((offer) => offer.engine)))];

  return (
    <form class="card" onSubmit={(event) => void form.submit(event)} noValidate>
      {agent === undefined && mode === 'test' ? (
        <p class="quiet">Made in test mode, it is a test agent: live calls cannot use it.</p>
      ) : null}
      <Failure>{form.failure}</Failure>
      <TextField label="Name" {...form.field('name')} />
      <TextArea
        label="Instruction"
        rows={9}
        hint={
          <>
            What the agent does and how. The first sentence opens the call. <code>{'{{name}}'}</code> stands for an
            input parameter of the request.
          </>
        }
        {...form.field('instruction')}
      />
      <SelectField
        label="Engine"
        hint="What conducts live calls. Test calls always have the offline demo, which asks fixed questions."
        options={[
          { value: '', label: `The service’s: ${choices.defaultEngine}` },
          ...engines.map((value) => ({ value, label: value })),
        ]}
        {...form.field('engine')}
      />
      <SelectField
        label="Language"
        options={languages.map(({ language, name }) => ({ value: language, label: `${name} (${language})` }))}
        {...form.field('language')}
      />
      <SelectField
        label="Voice"
        options={voices.map(({ voice, description }) => ({ value: voice, label: `${voice}: ${description}` }))}
        {...form.field('voice')}
      />
      <TemplateBuilder
        value={form.values.output_parameters}
        error={form.errors['output_parameters']}
        onChange={(output_parameters) => form.set({ output_parameters })}
      />
      <CheckField
        label="Say at once that it is a machine"
        hint="In many places the law asks for it."
        {...form.field('ai_disclosure')}
      />
      <SelectField
        label="When a mailbox answers"
        options={VOICEMAIL_ACTIONS.map((value) => ({ value, label: words(value) }))}
        name="voicemail_action"
        value={form.values.voicemail_action}
        error={form.errors['voicemail_action']}
        onChange={(value) => form.set({ voicemail_action: value as (typeof VOICEMAIL_ACTIONS)[number] })}
      />
      {form.values.voicemail_action === 'leave_message' ? (
        <TextArea label="Message for the mailbox" rows={3} {...form.field('voicemail_message')} />
      ) : null}
      <TextArea
        label="Numbers it may transfer to"
        rows={2}
        hint="One on each line, like +12025550142. It transfers to no other."
        {...form.field('transfer_numbers')}
      />
      <ToolsEditor tools={form.values.tools} errors={form.errors} onChange={(tools) => form.set({ tools })} />
      {choices.numbers.length === 0 && form.values.phone_number === '' ? null : (
        <SelectField
          label="Calls from"
          options={[
            { value: '', label: 'The account’s first number' },
            ...choices.numbers.map(({ phone_number: value }) => ({ value, label: value })),
          ]}
          {...form.field('phone_number')}
        />
      )}
      <TextField label="Longest talk, in seconds" type="number" {...form.field('max_duration_seconds')} />
      <TextField label="Ring for, in seconds" type="number" {...form.field('ring_timeout_seconds')} />
      <TextField
        label="Webhook URL"
        type="url"
        placeholder="https://example.com/call-completed"
        hint="Receives the outcome of each call of this agent."
        {...form.field('webhook_url')}
      />
      <div class="actions">
        <SubmitButton busy={form.busy}>{agent === undefined ? 'Make the agent' : 'Save'}</SubmitButton>
        <span role="status">{saved ? 'Saved.' : ''}</span>
      </div>
    </form>
  );
}

/** An empty optional field is left out of a new agent and taken away from an old one. */
function orNone<T extends string | readonly unknown[]>(value: T, agent: Agent | undefined): T | null | undefined {
  if (value.length > 0) return value;
  return agent === undefined ? undefined : null;
}

function Actions({ agent }: { agent: Agent }) {
  return (
    <>
      <TestBadge of={agent} />
      {agent.mode === 'test' ? <LiveCopy agent={agent} /> : null}
      <Archive agent={agent} />
    </>
  );
}

function Archive({ agent }: { agent: Agent }) {
  const { api } = usePortal();
  const { route } = useLocation();
  const [asking, setAsking] = useState(false);
  const [failure, setFailure] = useState<string>();
  return (
    <>
      <Failure>{failure}</Failure>
      <button type="button" class="button" onClick={() => setAsking(true)}>
        Archive
      </button>
      {asking ? (
        <Confirm
          title={`Archive ${agent.name}?`}
          text="No new call can use it. Its calls stay as they are."
          action="Archive"
          onConfirm={() =>
            api.delete(`/agents/${agent.agent_id}`).then(
              () => route('/portal/agents'),
              (error: Error) => setFailure(error.message),
            )
          }
          onClose={() => setAsking(false)}
        />
      ) : null}
    </>
  );
}
