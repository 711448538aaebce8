import type { SessionCommand } from './commands.js';
import type { SessionEvent } from './events.js';
import { reduceSession } from './reduce.js';
import { SESSION_POLICY, type SessionPolicy } from './policy.js';
import { newSession, type SessionSetup, type SessionState } from './state.js';

/** A recorded session: replaying it makes the same decisions. Contains what was said. */
export interface SessionLog {
  setup: SessionSetup;
  events: SessionEvent[];
  /** Number of events dropped from a very long session. */
  left: number;
}

/** Replays a session. @returns its final state, and the commands of all steps in order */
export function replaySession({ setup, events }: SessionLog): { state: SessionState; commands: SessionCommand[] } {
  let state = newSession({ ...setup, policy: completed(setup.policy) });
  const commands: SessionCommand[] = [];
  for (const event of events) {
    const [next, more] = reduceSession(state, event);
    state = next;
    commands.push(...more);
  }
  return { state, commands };
}

/** Uses today's policy values for settings that did not exist when the session was recorded. */
function completed(policy: SessionPolicy): SessionPolicy {
  const { dtmf, voicemail, closing } = SESSION_POLICY;
  return {
    ...SESSION_POLICY,
    ...policy,
    dtmf: { ...dtmf, ...policy.dtmf },
    voicemail: { ...voicemail, ...policy.voicemail },
    closing: { ...closing, ...policy.closing },
  };
}
