import { useState } from 'preact/hooks';
import type { PhoneNumber } from '../../../identity/accounts/schemas.js';
import type { Account } from '../../../identity/accounts/schemas.js';
import type { Agent } from '../../../agents/schemas.js';
import { Failure, Loaded } from '../components/feedback';
import { SubmitButton, TextField } from '../components/fields';
import { Table } from '../components/pager';
import { Time } from '../components/values';
import { PageLayout } from '../layout';
import { usePortal } from '../session';
import type { ListPage } from '../types';
import { useData } from '../use-data';
import { useForm } from '../use-form';

export function NumbersPage() {
  const { api, mode } = usePortal();
  const data = useData(mode, async (signal) => {
    const [numbers, agents, account] = await Promise.all([
      api.get<ListPage<PhoneNumber>>('/phone_numbers', {}, signal),
      // Numbers also serve live calls, which cannot use test agents.
      api.get<ListPage<Agent>>('/agents', { limit: 100, mode: 'live' }, signal),
      api.get<Account>('/account', {}, signal),
    ]);
    return { numbers: numbers.data, agents: agents.data, account };
  });
  const [failure, setFailure] = useState<string>();
  const act = (doing: Promise<unknown>) => {
    setFailure(undefined);
    doing.then(data.reload, (error: Error) => setFailure(error.message));
  };

  return (
    <PageLayout title="Phone numbers">
      <Failure>{failure}</Failure>
      <Loaded of={data}>
        {({ numbers, agents, account }) => (
          <>
            <section class="card" aria-label="Inbound agent">
              <AgentChoice
                label="Agent for calls to numbers without their own agent"
                value={account.inbound_agent_id}
                none="No agent"
                agents={agents}
                onChange={(inbound_agent_id) => act(api.patch('/account', { inbound_agent_id }))}
              />
            </section>
            {numbers.length === 0 ? (
              <p class="empty">No phone numbers yet. Calls are placed from the default number of the service.</p>
            ) : (
              <Table label="Phone numbers" head={['Number', 'Agent', 'Added', '']}>
                {numbers.map((number) => (
                  <tr key={number.phone_number}>
                    <td>{number.phone_number}</td>
                    <td>
                      <AgentChoice
                        label={`Agent of ${number.phone_number}`}
                        hidden
                        value={number.agent_id}
                        none="Inbound agent of the account"
                        agents={agents}
                        onChange={(agent_id) =>
                          act(api.patch(`/phone_numbers/${encodeURIComponent(number.phone_number)}`, { agent_id }))
                        }
                      />
                    </td>
                    <td>
                      <Time at={number.created_at} />
                    </td>
                    <td>
                      <button
                        type="button"
                        class="button button-small"
                        aria-label={`Remove ${number.phone_number}`}
                        onClick={() => act(api.delete(`/phone_numbers/${encodeURIComponent(number.phone_number)}`))}
                      >
                        Remove
                      </button>
                    </td>
                  </tr>
                ))}
              </Table>
            )}
          </>
        )}
      </Loaded>
      <AddNumber onAdded={data.reload} />
    </PageLayout>
  );
}

function AgentChoice(p: {
  label: string;
  hidden?: boolean;
  value: string | undefined;
  none: string;
  agents: readonly Agent[];
  onChange: (agentId: string | null) => void;
}) {
  const select = (
    <select
      {...(p.hidden ? { 'aria-label': p.label } : {})}
      value={p.value ?? ''}
      onChange={(event) => p.onChange(event.currentTarget.value || null)}
    >
      <option value="">{p.none}</option>
      {p.agents.map(({ agent_id, name }) => (
        <option key={agent_id} value={agent_id}>
          {name}
        </option>
      ))}
    </select>
  );
  if (p.hidden) return select;
  return (
    <label class="field">
      <strong>{p.label}</strong>
      {select}
    </label>
  );
}

function AddNumber({ onAdded }: { onAdded: () => void }) {
  const { api } = usePortal();
  const form = useForm({ phone_number: '' }, async (values) => {
    await api.post('/phone_numbers', values);
    form.reset({ phone_number: '' });
    onAdded();
  });
  return (
    <form class="card" onSubmit={(event) => void form.submit(event)} noValidate>
      <h2>Add number</h2>
      <Failure>{form.failure}</Failure>
      <TextField label="Number" type="tel" placeholder="+12025550142" {...form.field('phone_number')} />
      <SubmitButton busy={form.busy}>Add number</SubmitButton>
    </form>
  );
}
