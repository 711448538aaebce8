import type { Agent } from '../../../../agents/schemas.js';
import { usePortal } from '../../session';
import type { ListPage } from '../../types';
import { useData } from '../../use-data';

/**
 * Leads to the page that places a call or, without an agent to conduct it, to the form of the first one.
 * @param p.class of the link
 */
export function PlaceCallLink(p: { class?: string }) {
  const { api, mode, to } = usePortal();
  const agents = useData(mode, (signal) => api.get<ListPage<Agent>>('/agents', { limit: 1 }, signal));
  if (agents.state === 'loading') return null;
  const isFirst = agents.data?.data.length === 0;
  const action = mode === 'test' ? 'Place a test call' : 'Place a call';
  return (
    <a class={p.class ?? ''} href={to(isFirst ? '/agents/new' : '')}>
      {isFirst ? 'Create an agent to place a call' : action}
    </a>
  );
}
