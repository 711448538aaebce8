import type { Agent } from '../../../../agents/schemas.js';
import { DEMO_ACCOUNT_ID, DEMO_AGENT_ID } from '../../../../kernel/ids.js';
import { usePortal } from '../../session';
import type { useForm } from '../../use-form';
import { useData } from '../../use-data';
import type { AgentForm } from '../agents/agent-form';

/** Offers the receiver of webhooks that a development service runs: the demo agent sends its webhooks there. */
export function LocalInbox({ form }: { form: ReturnType<typeof useForm<AgentForm>> }) {
  const { api, session } = usePortal();
  const isDemo = session?.account.account_id === DEMO_ACCOUNT_ID;
  const agent = useData(`${isDemo}`, (signal) =>
    isDemo ? api.get<Agent>(`/agents/${DEMO_AGENT_ID}`, {}, signal) : Promise.resolve(undefined),
  );
  const inbox = agent.data?.webhook_url;
  if (inbox === undefined || new URL(inbox).hostname !== '127.0.0.1') return null;
  return (
    <p class="hint">
      {form.values.webhook_url === inbox ? (
        <>
          <code>npm start</code> receives it there. Show what has arrived with <code>curl {inbox}</code>
        </>
      ) : (
        <>
          On your machine:{' '}
          <button type="button" class="button button-link" onClick={() => form.set({ webhook_url: inbox })}>
            use the local inbox
          </button>
          , where <code>npm start</code> receives webhooks.
        </>
      )}
    </p>
  );
}
