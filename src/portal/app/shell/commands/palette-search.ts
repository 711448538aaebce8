import type { Agent } from '../../../../agents/schemas.js';

/** Most results of a kind. */
export const MOST_ENTRIES = 6;

/** Returns text without accents and case, to compare it. */
const plain = (text: string) => text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();

/** Whether a name has all words of a search, each at the beginning of one of its words. No words match every name. */
export function hasWords(name: string, search: string): boolean {
  const words = plain(name).split(/[^\p{L}\p{N}]+/u);
  return plain(search)
    .split(/[^\p{L}\p{N}]+/u)
    .every((part) => words.some((word) => word.startsWith(part)));
}

/** The agents that a search finds, those whose name begins with it first. */
export function agentsFound(agents: readonly Agent[], search: string): Agent[] {
  const first = (agent: Agent) => (plain(agent.name).startsWith(plain(search.trim())) ? 0 : 1);
  return agents
    .filter(({ name, agent_id }) => hasWords(name, search) || agent_id === search.trim())
    .toSorted((a, b) => first(a) - first(b))
    .slice(0, MOST_ENTRIES);
}

/** The identifier of a call, which a search of calls does not find. */
export const CALL_ID = /^call_[0-9A-HJKMNP-TV-Z]{26}$/;
