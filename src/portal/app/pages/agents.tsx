import type { Agent } from '../../../agents/schemas.js';
import { Loaded } from '../components/feedback';
import { Pager, Table, useCursor } from '../components/pager';
import { TestBadge, Time } from '../components/values';
import { PageLayout } from '../layout';
import { usePortal } from '../session';
import type { ListPage } from '../types';
import { useData } from '../use-data';

export function AgentsPage() {
  const { api, mode, to } = usePortal();
  const cursor = useCursor(mode);
  const agents = useData(`${mode} ${cursor.cursor ?? ''}`, (signal) =>
    api.get<ListPage<Agent>>('/agents', { limit: 25, cursor: cursor.cursor }, signal),
  );
  const create = (
    <a class="button button-main" href={to('/agents/new')}>
      Create agent
    </a>
  );
  return (
    <PageLayout title="Agents" actions={create}>
      <Loaded
        of={agents}
        isEmpty={(list) => list.data.length === 0}
        empty="No agents yet. An agent speaks on your calls: it has an instruction, a voice and a language. Create your first one."
      >
        {(list) => (
          <>
            <Table label="Agents" head={['Name', 'Voice', 'Language', 'Agent ID', 'Last changed']}>
              {list.data.map((agent) => (
                <tr key={agent.agent_id}>
                  <td>
                    <a href={to(`/agents/${agent.agent_id}`)}>{agent.name}</a> <TestBadge of={agent} />
                  </td>
                  <td>{agent.voice}</td>
                  <td>{agent.language}</td>
                  <td>
                    <code>{agent.agent_id}</code>
                  </td>
                  <td>
                    <Time at={agent.updated_at} />
                  </td>
                </tr>
              ))}
            </Table>
            <Pager of={list} cursor={cursor} />
          </>
        )}
      </Loaded>
    </PageLayout>
  );
}
