import { useLocation, useRoute } from 'preact-iso';
import { useState } from 'preact/hooks';
import type { Agent } from '../../../contract/management/agents.js';
import { Confirm } from '../components/dialog';
import { Failure, Loaded } from '../components/feedback';
import { SelectField, SubmitButton, TextArea, TextField } from '../components/fields';
import { TemplateBuilder } from '../components/template-builder';
import { TestCall } from '../components/test-call';
import { Page } from '../layout';
import { usePortal } from '../session';
import type { Choices } from '../types';
import { useData } from '../use-data';
import { useForm } from '../use-form';

export function AgentEditor() {
  const { api } = usePortal();
  const { params } = useRoute();
  const id = params['id'] ?? '';
  const choices = useData('choices', async (signal) => {
    const [voices, languages] = await Promise.all([
      api.get<{ data: Choices['voices'] }>('/voices', {}, signal),
      api.get<{ data: Choices['languages'] }>('/languages', {}, signal),
    ]);
    return { voices: voices.data, languages: languages.data };
  });
  const agent = useData(id, (signal) =>
    id === 'new' ? Promise.resolve(undefined) : api.get<Agent>(`/agents/${encodeURIComponent(id)}`, {}, signal),
  );
  if (agent.state === 'loading') return <Page title="Agent">…</Page>;
  return (
    <Page
      title={agent.data?.name ?? (id === 'new' ? 'New agent' : 'Agent')}
      actions={agent.data === undefined ? null : <Archive agent={agent.data} />}
    >
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

function Editor({ agent, choices }: { agent: Agent | undefined; choices: Choices }) {
  const { api } = usePortal();
  const { route } = useLocation();
  const [saved, setSaved] = useState(false);
  const form = useForm(
    {
      name: agent?.name ?? '',
      instruction: agent?.instruction ?? '',
      voice: agent?.voice ?? choices.voices[0]?.name ?? '',
      language: agent?.language ?? choices.languages[0]?.tag ?? '',
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
      };
      if (agent === undefined) {
        const made = await api.post<Agent>('/agents', body);
        route(`/portal/agents/${made.agent_id}`, true);
      } else {
        await api.patch<Agent>(`/agents/${agent.agent_id}`, body);
        setSaved(true);
      }
    },
  );
  const voices = choices.voices.filter(({ languages }) => languages.includes(form.values.language));

  return (
    <form class="card" onSubmit={(event) => void form.submit(event)} noValidate>
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
        label="Language"
        options={choices.languages.map(({ tag, name }) => ({ value: tag, label: `${name} (${tag})` }))}
        {...form.field('language')}
      />
      <SelectField
        label="Voice"
        options={voices.map(({ name, description }) => ({ value: name, label: `${name}: ${description}` }))}
        {...form.field('voice')}
      />
      <TemplateBuilder
        value={form.values.output_parameters}
        error={form.errors['output_parameters']}
        onChange={(output_parameters) => form.set({ output_parameters })}
      />
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
function orNone(value: string, agent: Agent | undefined): string | null | undefined {
  if (value !== '') return value;
  return agent === undefined ? undefined : null;
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
