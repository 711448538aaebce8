import type { Agent } from '../../agents/schemas.js';
import type { Mode } from './api';
import { usePortal } from './session';
import type { ListPage } from './types';
import { useData } from './use-data';

const PAGE_SIZE = 100;
const MOST_PAGES = 5;

/** Loads the agents of the mode, to choose one by its name. */
export function useAgents() {
  const { api, mode } = usePortal();
  return useData(mode, async (signal) => {
    const found: Agent[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MOST_PAGES; page++) {
      const list: ListPage<Agent> = await api.get('/agents', { limit: PAGE_SIZE, cursor }, signal);
      found.push(...list.data);
      cursor = list.next_cursor;
      if (cursor === undefined) break;
    }
    return found;
  });
}

/** Returns the agents with those of the mode first, because test mode also offers those of live calls. */
export function ownAgentsFirst(agents: readonly Agent[], mode: Mode): Agent[] {
  return [...agents.filter((agent) => agent.mode === mode), ...agents.filter((agent) => agent.mode !== mode)];
}

/** Returns the name of an agent as an option, with its mode where agents of both modes are offered. */
export function nameWithMode(agent: Agent, mode: Mode): string {
  return mode === 'test' ? `${agent.name} (${agent.mode})` : agent.name;
}
