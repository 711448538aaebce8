import type { Mode } from '../kernel/ids.js';

/** The agents that live calls may use. Agents from before agents had modes have none stored, and are live. */
export const LIVE_AGENTS = { mode: { $ne: 'test' as const } };

/** The agents that calls of a mode may use: live calls know live agents only, test calls both. */
export function agentsOf(mode: Mode) {
  return mode === 'live' ? LIVE_AGENTS : {};
}

/** The agents that were made in a mode. */
export function madeIn(mode: Mode) {
  return mode === 'live' ? LIVE_AGENTS : { mode };
}

/** The mode that an agent was made in. */
export function modeOfAgent(agent: { mode?: Mode }): Mode {
  return agent.mode ?? 'live';
}
