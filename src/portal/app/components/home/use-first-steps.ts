import { useState } from 'preact/hooks';
import type { Api, Mode } from '../../api';
import { usePortal } from '../../session';
import type { ListPage } from '../../types';
import { useData } from '../../use-data';

export const STEPS = ['hear', 'write', 'webhook', 'key', 'live'] as const;
export type Step = (typeof STEPS)[number];

/** Why a member does not see the first steps: all are done, or the member has hidden them. */
type Choice = 'done' | 'hidden' | undefined;
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
    const steps = await stepsTaken(api, signal);
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

async function stepsTaken(api: Api, signal: AbortSignal): Promise<Step[]> {
  const exists = async (path: string, modes: readonly Mode[], query: Record<string, string> = {}) => {
    for (const mode of modes) {
      const list = await api.get<ListPage<unknown>>(path, { ...query, mode, limit: 1 }, signal);
      if (list.data.length > 0) return true;
    }
    return false;
  };
  const completed = { status: 'COMPLETED' };
  const facts: Record<Step, Promise<boolean>> = {
    hear: exists('/calls', ['test', 'live'], completed),
    // Test mode lists the agents of both.
    write: exists('/agents', ['test']),
    webhook: exists('/webhook_deliveries', ['test', 'live'], { state: 'delivered' }),
    key: exists('/api_keys', ['test', 'live']),
    live: exists('/calls', ['live'], completed),
  };
  const isTaken = await Promise.all(STEPS.map((step) => facts[step]));
  return STEPS.filter((_, index) => isTaken[index]);
}
