import { useLocation, useRoute } from 'preact-iso';
import { useState } from 'preact/hooks';
import type { Agent } from '../../../agents/schemas.js';
import type { PhoneNumber } from '../../../identity/accounts/schemas.js';
import type { LanguageList, VoiceList } from '../../../agents/voices/contract.js';
import { webhookEndpoint } from '../../../kernel/webhook-endpoint.js';
import { formOf, requestOf } from '../agent-form';
import { AgentField } from '../components/agent-field';
import { ConversationSections } from '../components/conversation-sections';
import { Confirm } from '../components/dialog';
import { FailingWebhooksNotice } from '../components/failing-webhooks';
import { Failure, Loaded } from '../components/feedback';
import { SubmitButton } from '../components/fields';
import { CopyToLive } from '../components/copy-to-live';
import { TalkPanel } from '../components/talk-panel';
import { TemplateBuilder } from '../components/template-builder';
import { TestCall } from '../components/test-call';
import { editedTools, ToolsEditor } from '../components/tools-editor';
import { TestBadge } from '../components/values';
import { PageLayout } from '../layout';
import { usePortal } from '../session';
import { NotInThisMode } from '../shell/old-link';
import type { ListPage } from '../types';
import { notFoundError, useData } from '../use-data';
import { useForm } from '../use-form';

export function AgentEditorPage() {
  const { api, mode } = usePortal();
  const { params } = useRoute();
  const id = params['id'] ?? '';
  const choices = useData('choices', async (signal) => {
    const [{ voices, default_engine }, { languages }, numbers] = await Promise.all([
      api.get<VoiceList>('/voices', {}, signal),
      api.get<LanguageList>('/languages', {}, signal),
      api.get<ListPage<PhoneNumber>>('/phone_numbers', {}, signal),
    ]);
    return { voices, languages, defaultEngine: default_engine, numbers: numbers.data };
  });
  const agent = useData(id === 'new' ? id : `${mode} ${id}`, (signal) =>
    id === 'new' ? Promise.resolve(undefined) : api.get<Agent>(`/agents/${encodeURIComponent(id)}`, {}, signal),
  );
  const notFound = notFoundError(agent);
  if (notFound !== undefined) {
    return (
      <PageLayout title="Agent">
        <NotInThisMode what="agent" path={`/agents/${encodeURIComponent(id)}`} error={notFound} />
      </PageLayout>
    );
  }
  if (agent.state === 'loading') return <PageLayout title="Agent">…</PageLayout>;
  return (
    <PageLayout
      title={agent.data?.name ?? (id === 'new' ? 'Create agent' : 'Agent')}
      actions={agent.data === undefined ? null : <Actions agent={agent.data} />}
    >
      {agent.data?.webhook_url === undefined ? null : (
        <FailingWebhooksNotice only={webhookEndpoint(agent.data.webhook_url)} />
      )}
      <Loaded of={choices}>
        {(data) =>
          agent.state === 'failed' ? (
            <Failure>{agent.error.message}</Failure>
          ) : (
            <div class="columns">
              <Editor key={id} agent={agent.data} choices={data} />
              {agent.data === undefined ? null : (
                <div class="beside">
                  <TalkPanel request={{ agent_id: agent.data.agent_id }} />
                  <TestCall agentId={agent.data.agent_id} />
                </div>
              )}
            </div>
          )
        }
      </Loaded>
    </PageLayout>
  );
}

interface Choices {
  voices: VoiceList['voices'];
  languages: LanguageList['languages'];
  defaultEngine: string;
  numbers: readonly PhoneNumber[];
}

function Editor({ agent, choices }: { agent: Agent | undefined; choices: Choices }) {
  const { api, mode, to } = usePortal();
  const { route } = useLocation();
  const [saved, setSaved] = useState(false);
  const first = { voice: choices.voices[0]?.voice ?? '', language: choices.languages[0]?.language ?? '' };
  const form = useForm(formOf(agent, first), async (values) => {
    setSaved(false);
    const body = requestOf(values, agent);
    if (agent === undefined) {
      const created = await api.post<Agent>('/agents', body);
      route(to(`/agents/${created.agent_id}`), true);
    } else {
      const { tools } = await api.patch<Agent>(`/agents/${agent.agent_id}`, body);
      // The secrets that the user entered are stored now and not shown again.
      form.reset({ tools: editedTools(tools, values.tools) });
      setSaved(true);
    }
  });
  const engine = form.values.engine || choices.defaultEngine;
  const languages = choices.languages.filter(({ engines }) => engines.some((offer) => offer.engine === engine));
  const voices = choices.voices.filter(({ engines }) =>
    engines.some((offer) => offer.engine === engine && offer.languages.includes(form.values.language)),
  );
  const engines = [...new Set(choices.voices.flatMap((voice) => voice.engines.map((offer) => offer.engine)))];

  return (
    <form class="card" onSubmit={(event) => void form.submit(event)} noValidate>
      {agent === undefined && mode === 'test' ? (
        <p class="quiet">You are in test mode, so this becomes a test agent. Live calls cannot use it.</p>
      ) : null}
      <Failure>{form.failure}</Failure>
      <AgentField name="name" form={form} />
      <AgentField
        name="instruction"
        form={form}
        rows={9}
        hint={
          <>
            Describe what the agent does, and how. The call opens with the first sentence. <code>{'{{name}}'}</code>{' '}
            inserts an input parameter of the request.
          </>
        }
      />
      <AgentField
        name="engine"
        form={form}
        options={[
          { value: '', label: `Default (${choices.defaultEngine})` },
          ...engines.map((value) => ({ value, label: value })),
        ]}
      />
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
      <ConversationSections form={form} />
      <TemplateBuilder
        value={form.values.output_parameters}
        error={form.errors['output_parameters']}
        onChange={(output_parameters) => form.set({ output_parameters })}
      />
      <AgentField name="ai_disclosure" form={form} />
      <AgentField name="voicemail_action" form={form} />
      {form.values.voicemail_action === 'leave_message' ? <AgentField name="voicemail_message" form={form} /> : null}
      <AgentField name="transfer_numbers" form={form} rows={2} />
      <ToolsEditor tools={form.values.tools} errors={form.errors} onChange={(tools) => form.set({ tools })} />
      {choices.numbers.length === 0 && form.values.phone_number === '' ? null : (
        <AgentField
          name="phone_number"
          form={form}
          options={[
            { value: '', label: 'First number of the account' },
            ...choices.numbers.map(({ phone_number: value }) => ({ value, label: value })),
          ]}
        />
      )}
      <AgentField name="max_duration_seconds" form={form} />
      <AgentField name="ring_timeout_seconds" form={form} />
      <AgentField name="webhook_url" form={form} placeholder="https://example.com/call-completed" />
      <div class="actions">
        <SubmitButton busy={form.busy}>{agent === undefined ? 'Create agent' : 'Save'}</SubmitButton>
        <span role="status">{saved ? 'Saved.' : ''}</span>
      </div>
    </form>
  );
}

function Actions({ agent }: { agent: Agent }) {
  return (
    <>
      <TestBadge of={agent} />
      {agent.mode === 'test' ? <CopyToLive agent={agent} /> : null}
      <Archive agent={agent} />
    </>
  );
}

function Archive({ agent }: { agent: Agent }) {
  const { api, to } = usePortal();
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
          text="New calls can no longer use this agent. Existing calls are not affected."
          action="Archive"
          onConfirm={() =>
            api.delete(`/agents/${agent.agent_id}`).then(
              () => route(to('/agents')),
              (error: Error) => setFailure(error.message),
            )
          }
          onClose={() => setAsking(false)}
        />
      ) : null}
    </>
  );
}
