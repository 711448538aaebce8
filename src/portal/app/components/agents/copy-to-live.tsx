import { useLocation } from 'preact-iso';
import { useEffect, useState } from 'preact/hooks';
import { AGENT_FIELDS } from '../../../../agents/agent-definition.js';
import type { Agent } from '../../../../agents/schemas.js';
import type { Mode } from '../../api';
import { usePortal } from '../../session';
import { pathIn } from '../../shell/paths';
import { useUnsaved, useUnsavedChanges } from '../../shell/unsaved-changes';
import { Dialog } from '../dialog';
import { Failure } from '../feedback';
import { SubmitButton, TextField } from '../fields';
import { Icon } from '../icon';

/** A secret header of a tool. The service never returns its value, so the user must enter it again for a copy. */
interface Secret {
  tool: string;
  header: string;
}

const SUFFIX = ' (copy)';
/** The parameter that names the original in the URL of a new copy. */
const COPY_OF = 'copy_of';

/** Copies a test agent to a new live agent, because the mode of an agent cannot change. */
export function CopyToLive({ agent }: { agent: Agent }) {
  return <CopyAgent agent={agent} to={{ mode: 'live', name: agent.name }} action="Copy to live mode" />;
}

/** Copies an agent within its mode. */
export function Duplicate({ agent }: { agent: Agent }) {
  const name = `${agent.name.slice(0, AGENT_FIELDS.name.max - SUFFIX.length)}${SUFFIX}`;
  return <CopyAgent agent={agent} to={{ mode: agent.mode, name }} action="Duplicate" />;
}

/** Says on the page of a new copy what has happened, and leads back to the original. */
export function CopyNotice({ agent }: { agent: Agent }) {
  const { mode } = usePortal();
  const { query } = useLocation();
  const original = query[COPY_OF];
  if (original === undefined) return null;
  const isLive = agent.mode === 'live' && mode === 'live';
  return (
    <p class="notice notice-good" role="status">
      {isLive ? (
        <>
          <strong>Copied to live mode.</strong> You are in live mode now, and this is a new agent for live calls. Later
          changes of the original do not reach it.
        </>
      ) : (
        <>
          <strong>Copied.</strong> This is the copy; later changes of the original do not reach it.
        </>
      )}{' '}
      <a href={pathIn(isLive ? 'test' : mode, `/agents/${encodeURIComponent(original)}`)}>
        {isLive ? 'Back to the original in test mode' : 'Back to the original'}
      </a>
    </p>
  );
}

/** Copies the agent as it is stored, and shows the copy. */
function CopyAgent({ agent, to, action }: { agent: Agent; to: { mode: Mode; name: string }; action: string }) {
  const { api } = usePortal();
  const { route } = useLocation();
  const [failure, setFailure] = useState<string>();
  const [asking, setAsking] = useState(false);
  /** The entered values stay when the dialog is closed. */
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  useUnsaved(Object.values(values).some((value) => value !== ''));
  const [copied, setCopied] = useState<string>();
  const { leave } = useUnsavedChanges();
  useEffect(() => {
    // The original may have unsaved changes.
    if (copied !== undefined) leave(() => route(copied));
  }, [copied]);
  const secrets = (agent.tools ?? []).flatMap(({ name: tool, header_names: headers = [] }) =>
    headers.map((header) => ({ tool, header })),
  );

  async function copy(): Promise<void> {
    try {
      const { mode, name } = to;
      const created = await api.post<Agent>('/agents', { ...copyOf(agent, values), name }, { mode });
      setAsking(false);
      setValues({});
      setCopied(pathIn(mode, `/agents/${created.agent_id}?${COPY_OF}=${agent.agent_id}`));
    } catch (error) {
      setFailure((error as Error).message);
    }
  }

  return (
    <>
      {asking ? null : <Failure>{failure}</Failure>}
      <button type="button" class="button" onClick={() => (secrets.length === 0 ? void copy() : setAsking(true))}>
        <Icon name={to.mode === agent.mode ? 'copy' : 'switchMode'} /> {action}
      </button>
      {asking ? (
        <SecretHeadersDialog
          action={action}
          secrets={secrets}
          failure={failure}
          values={values}
          onChange={setValues}
          onCopy={copy}
          onClose={() => setAsking(false)}
        />
      ) : null}
    </>
  );
}

function SecretHeadersDialog(p: {
  action: string;
  secrets: readonly Secret[];
  failure: string | undefined;
  values: Readonly<Record<string, string>>;
  onChange: (values: Readonly<Record<string, string>>) => void;
  onCopy: () => Promise<void>;
  onClose: () => void;
}) {
  const { values } = p;
  const [busy, setBusy] = useState(false);
  const submit = (event: Event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    void p.onCopy().finally(() => setBusy(false));
  };
  return (
    <Dialog title="Secret headers of the copy" onClose={p.onClose}>
      <form onSubmit={submit} noValidate>
        <p>
          The values of secret headers are never shown and cannot be copied. Enter the values for the copy; a header
          left empty is not copied.
        </p>
        <Failure>{p.failure}</Failure>
        {p.secrets.map((secret) => (
          <TextField
            key={keyOf(secret)}
            label={`${secret.header} of ${secret.tool}`}
            name={`copy ${keyOf(secret)}`}
            type="password"
            value={values[keyOf(secret)] ?? ''}
            onChange={(value) => p.onChange({ ...values, [keyOf(secret)]: value })}
          />
        ))}
        <SubmitButton busy={busy}>{p.action}</SubmitButton>
      </form>
    </Dialog>
  );
}

function keyOf({ tool, header }: Secret): string {
  return `${tool} ${header}`;
}

/** Builds the request for a copy of an agent, with the entered header values. */
function copyOf(agent: Agent, values: Readonly<Record<string, string>>) {
  const {
    agent_id: _id,
    mode: _mode,
    created_at: _created,
    updated_at: _updated,
    archived_at: _gone,
    tools = [],
    ...fields
  } = agent;
  const copied = tools.map(({ header_names: names = [], ...tool }) => {
    const given = names.flatMap((header) => {
      const value = values[keyOf({ tool: tool.name, header })] ?? '';
      return value === '' ? [] : [[header, value] as const];
    });
    return given.length === 0 ? tool : { ...tool, headers: Object.fromEntries(given) };
  });
  return copied.length === 0 ? fields : { ...fields, tools: copied };
}
