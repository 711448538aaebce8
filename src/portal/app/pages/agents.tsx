import type { Agent } from '../../../agents/schemas.js';
import { Empty, Loaded } from '../components/feedback';
import { Icon } from '../components/icon';
import { Pager, Table } from '../components/pager';
import { ModeBadge, Time } from '../components/values';
import { PageLayout } from '../layout';
import { usePortal } from '../session';
import { useList } from '../use-list';

export function AgentsPage() {
  const { mode, to } = usePortal();
  const { list: agents, cursor } = useList<Agent>(mode, '/agents');
  const create = (
    <a class="button button-main" href={to('/agents/new')}>
      <Icon name="plus" /> Create agent
    </a>
  );
  return (
    <PageLayout title="Agents" actions={create}>
      <Loaded
        of={agents}
        isEmpty={(list) => list.data.length === 0}
        empty={
          <Empty icon="agents" title="No agents yet" actions={create}>
            An agent conducts your calls. You write its instruction, such as “Confirm the appointment and ask for the
            member number”, and choose a voice and a language. You can talk with it in the browser before you save it.
          </Empty>
        }
      >
        {(list) => (
          <>
            <AgentTables agents={list.data} />
            <Pager of={list} cursor={cursor} />
          </>
        )}
      </Loaded>
    </PageLayout>
  );
}

/** Test mode lists the agents of live calls apart, because a copy for live calls often has the name of its original. */
function AgentTables({ agents }: { agents: readonly Agent[] }) {
  const { mode } = usePortal();
  const own = agents.filter((agent) => agent.mode === mode);
  const live = agents.filter((agent) => agent.mode !== mode);
  if (live.length === 0) return <AgentTable label="Agents" agents={own} />;
  return (
    <>
      {own.length === 0 ? null : (
        <section>
          <h2>Test agents</h2>
          <AgentTable label="Test agents" agents={own} />
        </section>
      )}
      <section class="list-apart">
        <h2>Live agents</h2>
        <p class="quiet section-hint">Live calls use these agents, and test calls can use them, too.</p>
        <AgentTable label="Live agents" agents={live} />
      </section>
    </>
  );
}

function AgentTable({ label, agents }: { label: string; agents: readonly Agent[] }) {
  const { to } = usePortal();
  return (
    <Table
      label={label}
      head={['Name', 'Voice', 'Language', 'Agent ID', 'Last changed', '']}
      minor={['Voice', 'Language', 'Agent ID', 'Last changed']}
    >
      {agents.map((agent) => (
        <tr key={agent.agent_id}>
          <td class="wide breakable">
            <a href={to(`/agents/${agent.agent_id}`)}>{agent.name}</a> <ModeBadge of={agent} />
          </td>
          <td class="minor">{agent.voice}</td>
          <td class="minor">{agent.language}</td>
          <td class="minor">
            <code>{agent.agent_id}</code>
          </td>
          <td class="minor">
            <Time at={agent.updated_at} />
          </td>
          <td class="number">
            <a
              class="button button-small"
              href={to(`/agents/${agent.agent_id}#talk`)}
              aria-label={`Talk with ${agent.name}`}
            >
              <Icon name="microphone" /> Talk
            </a>
          </td>
        </tr>
      ))}
    </Table>
  );
}
