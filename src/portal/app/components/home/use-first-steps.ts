import { useState } from 'preact/hooks';
import type { Agent } from '../../../../agents/schemas.js';
import type { CallSummary } from '../../../../calls/views/schemas.js';
import type { ApiKey } from '../../../../identity/accounts/schemas.js';
import { DEMO_ACCOUNT_ID, DEMO_AGENT_ID } from '../../../../kernel/ids.js';
import type { ListedWebhookDelivery } from '../../../../webhooks/schemas.js';
import type { Api, Mode } from '../../api';
import { usePortal } from '../../session';
import type { ListPage } from '../../types';
import { useData } from '../../use-data';

export const STEPS = ['hear', 'write', 'webhook', 'key', 'live'] as const;
export type Step = (typeof STEPS)[number];

/** Why a member does not see the first steps: all are done, or the member has hidden them. */
type Choice = 'done' | 'hidden' | undefined;
/** How many of the latest calls, agents, deliveries and keys are looked at. */
const LATEST = 20;
const MODES: readonly Mode[] = ['test', 'live'];
const STORED_AS = 'callwright-first-steps';

function storedChoice(accountId: string): Choice {
  const [choice, account] = (localStorage.getItem(STORED_AS) ?? '').split(' ');
  return account === accountId && (choice === 'done' || choice === 'hidden') ? choice : undefined;
}

function storeChoice(choice: Choice, accountId: string): void {
  if (choice === undefined) localStorage.removeItem(STORED_AS);
  else localStorage.setItem(STORED_AS, `${choice} ${accountId}`);
}

/** Finds out which first steps the account has taken, from its calls, agents, webhooks and keys. */
export function useFirstSteps() {
  const { api, session } = usePortal();
  const accountId = session?.account.account_id ?? '';
  const [choice, setChoice] = useState<Choice>(() => storedChoice(accountId));
  /** Steps that are shown later must not hide the rest of the page meanwhile. */
  const [wasShown] = useState(choice === undefined);
  // A viewer can take none of the steps.
  const isShown = session?.member.role !== 'viewer' && choice === undefined;

  function choose(next: Choice): void {
    setChoice(next);
    storeChoice(next, accountId);
  }

  const taken = useData(`first-steps ${isShown}`, async (signal) => {
    if (!isShown) return undefined;
    const steps = await stepsTaken(api, accountId, signal);
    // The page that finds this out says so. Later visits do not show the steps.
    if (steps.length === STEPS.length) storeChoice('done', accountId);
    return steps;
  });
  return {
    taken: isShown ? taken.data : undefined,
    isLoading: isShown && wasShown && taken.state === 'loading',
    isHidden: session?.member.role !== 'viewer' && choice === 'hidden',
    /** Whether a step is left to take, and shown. */
    isOpen: isShown && taken.data !== undefined && taken.data.length < STEPS.length,
    reload: taken.reload,
    hide: () => choose('hidden'),
    close: () => choose('done'),
    show: () => choose(undefined),
  };
}

/** Whether an agent, or that of a call, was made by a member. A development service begins with one that was not. */
const isOwn = ({ agent_id: id }: Pick<Agent, 'agent_id'>) => id !== DEMO_AGENT_ID;

async function stepsTaken(api: Api, accountId: string, signal: AbortSignal): Promise<Step[]> {
  async function latest<T>(path: string, modes: readonly Mode[], query: Record<string, string> = {}): Promise<T[]> {
    const lists = await Promise.all(
      modes.map((mode) => api.get<ListPage<T>>(path, { ...query, mode, limit: LATEST }, signal)),
    );
    return lists.flatMap(({ data }) => data);
  }
  const [calls, agents, deliveries, keys] = await Promise.all([
    latest<CallSummary>('/calls', MODES, { status: 'COMPLETED' }),
    // Test mode lists the agents of both.
    latest<Agent>('/agents', ['test']),
    latest<ListedWebhookDelivery>('/webhook_deliveries', MODES, { state: 'delivered' }),
    latest<ApiKey>('/api_keys', MODES),
  ]);
  const own = calls.filter(isOwn);
  const facts: Record<Step, boolean> = {
    hear: calls.length > 0,
    write: agents.some(isOwn),
    webhook: deliveries.some(({ call_id: id }) => own.some((call) => call.call_id === id)),
    // The demo account begins with keys that no member has made.
    key: keys.some((key) => key.made_by !== undefined || accountId !== DEMO_ACCOUNT_ID),
    live: own.some(({ mode }) => mode === 'live'),
  };
  return STEPS.filter((step) => facts[step]);
}
