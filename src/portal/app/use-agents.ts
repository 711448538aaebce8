import type { Agent } from '../../agents/schemas.js';
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
