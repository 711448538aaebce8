import { useLocation, useRoute } from 'preact-iso';
import { useEffect, useState } from 'preact/hooks';
import type { Agent, SavedAgent } from '../../../agents/schemas.js';
import type { PhoneNumber } from '../../../identity/accounts/schemas.js';
import type { LanguageList, VoiceList } from '../../../agents/voices/contract.js';
import type { Mode } from '../api';
import { webhookEndpoint } from '../../../kernel/webhook-endpoint.js';
import { formOf, requestOf } from '../components/agents/agent-form';
import { Confirm } from '../components/dialog';
import { FailingWebhooksNotice } from '../components/webhooks/failing-webhooks';
import { Failure, Loaded } from '../components/feedback';
import { CopyNotice, CopyToLive, Duplicate } from '../components/agents/copy-to-live';
import { TalkPanel } from '../components/talk-panel';
import { TestCall } from '../components/agents/test-call';
import { editedTools } from '../components/agents/edited-tools';
import { formErrorOf, talkRequestOf } from '../components/studio/draft';
import { EditorSections, type Choices } from '../components/studio/editor-sections';
import { SaveBar, SaveWarnings } from '../components/studio/save-bar';
import { Icon } from '../components/icon';
import { ModeBadge } from '../components/values';
import { PageLayout } from '../layout';
import { usePortal } from '../session';
import { NotInThisMode } from '../shell/old-link';
import type { ListPage } from '../types';
import { notFoundError, useData } from '../use-data';
import { useForm } from '../use-form';

export function AgentEditorPage() {
  const { api } = usePortal();
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
  const { agent, isNew, keep } = useAgent(id);
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
      actions={
        <>
          <a class="button button-main studio-jump" href="#talk">
            Talk with this agent
          </a>
          {agent.data === undefined ? null : <Actions agent={agent.data} />}
        </>
      }
    >
      {agent.data === undefined ? null : <CopyNotice agent={agent.data} />}
      {agent.data?.webhook_url === undefined ? null : (
        <FailingWebhooksNotice only={webhookEndpoint(agent.data.webhook_url)} />
      )}
      <Loaded of={choices}>
        {(data) =>
          agent.state === 'failed' ? (
            <Failure>{agent.error.message}</Failure>
          ) : (
            // The page of a new agent stays when the agent is created, and with it a call.
            <Studio key={isNew ? 'new' : id} agent={agent.data} choices={data} onSaved={keep} />
          )
        }
      </Loaded>
    </PageLayout>
  );
}

/** Loads an agent. Afterwards it is the one that was saved last on this page. */
function useAgent(id: string) {
  const { api, mode } = usePortal();
  const [latest, setLatest] = useState<{ agent: Agent; isNew: boolean }>();
  const saved = latest?.agent.agent_id === id ? latest : undefined;
  const loaded = useData(id === 'new' ? id : `${mode} ${id}`, (signal) =>
    id === 'new' || saved !== undefined
      ? Promise.resolve(saved?.agent)
      : api.get<Agent>(`/agents/${encodeURIComponent(id)}`, {}, signal),
  );
  // Another page may change the agent before the user returns to it.
  useEffect(() => setLatest(saved), [id]);
  const agent: typeof loaded =
    saved === undefined ? loaded : { state: 'ready', data: saved.agent, reload: loaded.reload };
  const keep = (stored: Agent): void =>
    setLatest((before) => ({ agent: stored, isNew: id === 'new' || before?.isNew === true }));
  /** Whether the agent was created on this page. */
  const isNew = id === 'new' || saved?.isNew === true;
  return { agent, isNew, keep };
}

interface StudioProps {
  agent: Agent | undefined;
  choices: Choices;
  onSaved: (stored: Agent) => void;
}

/** The editor, and beside it a call with the agent as it is being edited. */
function Studio(p: StudioProps) {
  const { agent, choices } = p;
  const { mode } = usePortal();
  const { form, saved, warnings } = useAgentForm(p);
  const engine = engineOf(form.values.engine, choices.defaultEngine, mode);
  return (
    <div class="studio">
      <Editor agent={agent} choices={choices} engine={engine} form={form} saved={saved} warnings={warnings} />
      <div class="beside">
        <TalkPanel
          engine={engine}
          asksNothing={form.values.output_parameters === ''}
          request={() => talkRequestOf(form.values, agent, form.isChanged)}
          onStart={form.clearErrors}
          onRejected={(error) => {
            const ofForm = formErrorOf(error);
            if (ofForm !== undefined) form.show(ofForm);
            return ofForm !== undefined;
          }}
        />
        {agent === undefined ? null : <TestCall agents={[agent]} />}
      </div>
    </div>
  );
}

/** Returns the engine of a call. If test mode uses the offline demo, it conducts all test calls. */
function engineOf(chosen: string, byDefault: string, mode: Mode): string {
  return chosen === '' || (mode === 'test' && byDefault === 'offline-demo') ? byDefault : chosen;
}

/** The form of an agent. It creates a new agent, or changes a stored one. */
function useAgentForm({ agent, choices, onSaved }: StudioProps) {
  const { api, to } = usePortal();
  const { route } = useLocation();
  const [saved, setSaved] = useState(false);
  const [warnings, setWarnings] = useState<NonNullable<SavedAgent['warnings']>>([]);
  const first = { voice: choices.voices[0]?.voice ?? '', language: choices.languages[0]?.language ?? '' };
  const form = useForm(formOf(agent, first), async (values) => {
    setSaved(false);
    setWarnings([]);
    const body = requestOf(values, agent);
    const { warnings: found = [], ...stored } =
      agent === undefined
        ? await api.post<SavedAgent>('/agents', body)
        : await api.patch<SavedAgent>(`/agents/${agent.agent_id}`, body);
    // The secrets that the user entered are stored now and not shown again.
    form.reset({ tools: editedTools(stored.tools, values.tools) });
    setSaved(true);
    setWarnings(found);
    onSaved(stored);
    if (agent === undefined) route(to(`/agents/${stored.agent_id}`), true);
  });
  return { form, saved, warnings };
}

function Editor(p: { agent: Agent | undefined; choices: Choices; engine: string } & ReturnType<typeof useAgentForm>) {
  const { agent, choices, engine, form } = p;
  const { mode } = usePortal();
  /** Some fields keep what was typed, so discarding shows new ones. */
  const [round, setRound] = useState(0);
  return (
    <form onSubmit={(event) => void form.submit(event)} noValidate>
      {agent === undefined && mode === 'test' ? (
        <p class="quiet">You are in test mode, so this becomes a test agent. Live calls cannot use it.</p>
      ) : null}
      {agent?.mode === 'live' && mode === 'test' ? (
        <p class="notice">Live calls use this agent: saving changes them.</p>
      ) : null}
      <Failure>{form.failure}</Failure>
      <EditorSections key={round} form={form} choices={choices} engine={engine} />
      <SaveWarnings of={p.warnings} />
      <SaveBar
        action={agent === undefined ? 'Create agent' : 'Save'}
        isChanged={form.isChanged}
        isSaved={p.saved}
        busy={form.busy}
        onDiscard={() => {
          form.discard();
          setRound((before) => before + 1);
        }}
      />
    </form>
  );
}

function Actions({ agent }: { agent: Agent }) {
  return (
    <>
      <ModeBadge of={agent} isShownInLiveMode />
      <Duplicate agent={agent} />
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
        <Icon name="trash" /> Archive
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
