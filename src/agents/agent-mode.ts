import type { Mode } from '../kernel/ids.js';

/**
 * Filter for agents that live calls may use: all except test agents. Agents older than modes have no mode and count as
 * live.
 */
export const LIVE_AGENTS = { mode: { $ne: 'test' as const } };

/** Filter for agents that calls of a mode may use. Live calls may use live agents only, test calls may use both. */
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

/**
 * Whether the tools of an agent send their secret headers in calls of a mode. Those of a live agent do not in test calls: a
 * test key decides what is said in them, and can read what the tools' servers respond.
 */
export function maySendSecrets(agent: { mode?: Mode }, ofCall: Mode): boolean {
  return ofCall === 'live' || modeOfAgent(agent) === 'test';
}
