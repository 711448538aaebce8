import type { Agent } from '../../../agents/schemas.js';
import type { BalanceResponse } from '../../../billing/statements/schemas.js';
import { FailingWebhooksNotice } from '../components/failing-webhooks';
import { Loaded } from '../components/feedback';
import { TestCall } from '../components/test-call';
import { Code } from '../components/values';
import { formatDollars } from '../format';
import { PageLayout } from '../layout';
import { usePortal } from '../session';
import { EmptyBalance } from '../shell/empty-balance';
import type { ListPage } from '../types';
import { useData } from '../use-data';

export function HomePage() {
  const { api, mode, to } = usePortal();
  const start = useData(mode, async (signal) => {
    const [agents, balance] = await Promise.all([
      api.get<ListPage<Agent>>('/agents', { limit: 1 }, signal),
      api.get<BalanceResponse>('/balance', {}, signal),
    ]);
    return { agent: agents.data[0], balance };
  });

  return (
    <PageLayout title="Home">
      <FailingWebhooksNotice />
      <Loaded of={start}>
        {({ agent, balance }) => (
          <>
            <EmptyBalance balance={balance} />
            <div class="columns">
              <div>
                <section class="card" aria-label="Balance">
                  <h2>{mode === 'test' ? 'Test balance' : 'Balance'}</h2>
                  <p>
                    <strong>{formatDollars(balance.available)}</strong>{' '}
                    <span class="quiet">Calls are billed by the second.</span>
                  </p>
                </section>
                <section class="card" aria-label="Call with the API">
                  <h2>Call with the API</h2>
                  <p>
                    Create <a href={to('/keys')}>an API key</a>, run this command, and follow the call under{' '}
                    <a href={to('/calls')}>Calls</a>.
                  </p>
                  <Code label="Example request" text={curl(mode, agent?.agent_id)} />
                  <p>
                    See the <a href="/docs">API reference</a> for all endpoints.
                  </p>
                </section>
              </div>
              {agent === undefined ? (
                <section class="card" aria-label="First agent">
                  <h2>Create your first agent</h2>
                  <p>An agent speaks on your calls.</p>
                  <a class="button button-main" href={to('/agents/new')}>
                    Create agent
                  </a>
                </section>
              ) : (
                <TestCall agentId={agent.agent_id} />
              )}
            </div>
          </>
        )}
      </Loaded>
    </PageLayout>
  );
}

function curl(mode: string, agentId: string | undefined): string {
  const who = agentId === undefined ? `"instruction": "Ask how the day was."` : `"agent_id": "${agentId}"`;
  return [
    `curl ${location.origin}/outbound_call \\`,
    `  -H "Authorization: Bearer sk_${mode}_YOUR_KEY" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '{"to_phone_number": "+12025550100", ${who}}'`,
  ].join('\n');
}
