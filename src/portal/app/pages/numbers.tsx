import type { Account, PhoneNumber } from '../../../identity/accounts/schemas.js';
import type { Agent } from '../../../agents/schemas.js';
import { SmallButton } from '../components/buttons';
import { Empty, Failure, Loaded } from '../components/feedback';
import { SubmitButton, TextField } from '../components/fields';
import { Icon } from '../components/icon';
import { Table } from '../components/pager';
import { Time } from '../components/values';
import { PageLayout } from '../layout';
import { usePortal } from '../session';
import type { ListPage } from '../types';
import { useAction } from '../use-action';
import { useData } from '../use-data';
import { useForm } from '../use-form';

const INBOUND_AGENT = 'Inbound agent of the account';

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
  const { failure, act } = useAction(data.reload);

  return (
    <PageLayout title="Phone numbers">
      <Failure>{failure}</Failure>
      <Loaded of={data}>
        {({ numbers, agents, account }) => (
          <>
            <section class="card" aria-label="Inbound agent">
              <AgentChoice
                label={INBOUND_AGENT}
                hint="Answers calls to numbers that have no agent."
                value={account.inbound_agent_id}
                none="No agent"
                agents={agents}
                onChange={(inbound_agent_id) => void act(api.patch('/account', { inbound_agent_id }))}
              />
            </section>
            {numbers.length === 0 ? (
              <Empty icon="numbers" title="No phone numbers yet">
                Until you add one, calls are placed from the default number of the service. Calls to your own number are
                answered by its agent, and your calls show it to the people you call.
              </Empty>
            ) : (
              <NumbersTable
                numbers={numbers}
                agents={agents}
                onAssign={(number, agent_id) => void act(api.patch(pathOf(number), { agent_id }))}
                onRemove={(number) => void act(api.delete(pathOf(number)))}
              />
            )}
          </>
        )}
      </Loaded>
      <AddNumber onAdded={data.reload} />
    </PageLayout>
  );
}

const pathOf = ({ phone_number: number }: PhoneNumber) => `/phone_numbers/${encodeURIComponent(number)}`;

function NumbersTable(p: {
  numbers: readonly PhoneNumber[];
  agents: readonly Agent[];
  onAssign: (number: PhoneNumber, agentId: string | null) => void;
  onRemove: (number: PhoneNumber) => void;
}) {
  return (
    <Table label="Phone numbers" head={['Number', 'Agent', 'Added', '']} cards>
      {p.numbers.map((number) => (
        <tr role="row" key={number.phone_number}>
          <td role="cell">{number.phone_number}</td>
          <td role="cell">
            <AgentChoice
              label={`Agent of ${number.phone_number}`}
              hidden
              value={number.agent_id}
              none={INBOUND_AGENT}
              agents={p.agents}
              onChange={(agentId) => p.onAssign(number, agentId)}
            />
          </td>
          <td role="cell">
            <Time at={number.created_at} />
          </td>
          <td role="cell" class="number">
            <SmallButton label={`Remove ${number.phone_number}`} onClick={() => p.onRemove(number)}>
              Remove
            </SmallButton>
          </td>
        </tr>
      ))}
    </Table>
  );
}

function AgentChoice(p: {
  label: string;
  hint?: string;
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
      {p.hint === undefined ? null : <span class="hint hint-line">{p.hint}</span>}
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
      <SubmitButton busy={form.busy}>
        <Icon name="plus" /> Add number
      </SubmitButton>
    </form>
  );
}
