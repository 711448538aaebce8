import type { BalanceResponse, UsageResponse } from '../../../billing/statements/schemas.js';
import type { CallSummary } from '../../../calls/views/schemas.js';
import { FailingWebhooksNotice } from '../components/webhooks/failing-webhooks';
import { Loaded } from '../components/feedback';
import { ANSWERING_NUMBER, TestCall } from '../components/agents/test-call';
import { SmallButton } from '../components/buttons';
import { FirstSteps } from '../components/home/first-steps';
import { RecentCalls } from '../components/home/recent-calls';
import { TalkCard } from '../components/home/talk-card';
import { useFirstSteps } from '../components/home/use-first-steps';
import { Code } from '../components/values';
import { durationInWords, formatDollars } from '../format';
import { PageLayout } from '../layout';
import { usePortal } from '../session';
import { EmptyBalance } from '../shell/empty-balance';
import type { ListPage } from '../types';
import { ownAgentsFirst, useAgents } from '../use-agents';
import { useData } from '../use-data';
import { useLiveReload, useReloadOnReturn } from '../use-live-reload';

interface Start {
  balance: BalanceResponse;
  calls: CallSummary[];
  /** Of the last 30 days. */
  usage: UsageResponse['total'];
}

export function HomePage() {
  const { api, mode } = usePortal();
  const agents = useAgents();
  const start = useData<Start>(mode, async (signal) => {
    const [balance, calls, usage] = await Promise.all([
      api.get<BalanceResponse>('/balance', {}, signal),
      api.get<ListPage<CallSummary>>('/calls', { limit: 5 }, signal),
      api.get<UsageResponse>('/usage', { group_by: 'day' }, signal),
    ]);
    return { balance, calls: calls.data, usage: usage.total };
  });
  const steps = useFirstSteps();
  const reloadAll = () => {
    start.reload();
    steps.reload();
  };
  useLiveReload(start.data?.calls, start.reload, reloadAll);
  useReloadOnReturn(reloadAll);
  const [agent, ...others] = ownAgentsFirst(agents.data ?? [], mode);

  return (
    <PageLayout title="Home" actions={steps.isHidden ? <ShowSteps onShow={steps.show} /> : null}>
      <FailingWebhooksNotice />
      <Loaded of={firstUnready(agents, steps.isLoading) ?? start}>
        {({ balance, calls, usage }) => (
          <>
            <EmptyBalance balance={balance} />
            {steps.taken === undefined ? null : (
              <FirstSteps taken={steps.taken} onHide={steps.hide} onClose={steps.close} />
            )}
            <KeyFigures balance={balance} usage={usage} />
            <div class="columns columns-even">
              <TalkCard agent={agent} isMain={!steps.isOpen} />
              {agent === undefined ? null : <TestCall agents={[agent, ...others]} onPlaced={start.reload} />}
            </div>
            <ApiExample agentId={agent?.agent_id} />
            <RecentCalls calls={calls} />
          </>
        )}
      </Loaded>
    </PageLayout>
  );
}

/** The state of the data that the page waits for before it shows the rest; undefined when it is there. */
function firstUnready(agents: ReturnType<typeof useAgents>, areStepsLoading: boolean) {
  if (agents.state === 'failed') return { state: 'failed' as const, error: agents.error, reload: agents.reload };
  if (!areStepsLoading && agents.state === 'ready') return undefined;
  return { state: 'loading' as const, reload: agents.reload };
}

function KeyFigures({ balance, usage }: Pick<Start, 'balance' | 'usage'>) {
  const { mode } = usePortal();
  const figures = [
    [mode === 'test' ? 'Test balance' : 'Balance', formatDollars(balance.available)],
    ['Billed calls, last 30 days', usage.calls.toLocaleString()],
    ['Billed time, last 30 days', durationInWords(usage.seconds)],
    ['Cost, last 30 days', formatDollars(usage.cost)],
  ];
  return (
    <dl class="card figures" aria-label="Balance and usage">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function ShowSteps({ onShow }: { onShow: () => void }) {
  return <SmallButton onClick={onShow}>Show first steps</SmallButton>;
}

function ApiExample({ agentId }: { agentId: string | undefined }) {
  const { mode, session, to } = usePortal();
  const isSimulated = mode === 'test' || session?.live_calls_simulated === true;
  return (
    <section class="card" aria-label="Call with the API">
      <h2>Call with the API</h2>
      <p>
        Create <a href={to('/keys')}>an API key</a>, run this command, and follow the call under{' '}
        <a href={to('/calls')}>Calls</a>.
        {isSimulated ? ` No phone rings: ${ANSWERING_NUMBER} is a simulated person who answers three questions.` : null}
      </p>
      <Code label="Example request" text={curl(mode, isSimulated ? ANSWERING_NUMBER : 'YOUR_NUMBER', agentId)} />
      <p>
        See the <a href="/docs">API reference</a> for all endpoints.
      </p>
    </section>
  );
}

/** The request of the README, with the agent and the mode of this page. */
function curl(mode: string, number: string, agentId: string | undefined): string {
  const who = agentId === undefined ? `"instruction": "Ask how the day was."` : `"agent_id": "${agentId}"`;
  return [
    `curl -X POST ${location.origin}/outbound_call \\`,
    `  -H "Authorization: Bearer sk_${mode}_YOUR_KEY" -H 'Content-Type: application/json' \\`,
    `  -d '{"to_phone_number": "${number}", ${who}}'`,
  ].join('\n');
}
