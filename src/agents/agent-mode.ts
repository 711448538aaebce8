import type { Mode } from '../kernel/ids.js';

/** Filter for agents that live calls may use. Agents created before modes existed have none stored; they are live. */
export const LIVE_AGENTS = { mode: { $ne: 'test' as const } };

/** Filter for agents that calls of a mode may use: live calls only live agents, test calls both. */
export function agentsOf(mode: Mode) {
  return mode === 'live' ? LIVE_AGENTS : {};
}

/** Filter for agents created in a mode. */
export function madeIn(mode: Mode) {
  return mode === 'live' ? LIVE_AGENTS : { mode };
}

/** Returns the mode in which an agent was created. */
export function modeOfAgent(agent: { mode?: Mode }): Mode {
  return agent.mode ?? 'live';
}
