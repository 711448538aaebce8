import type { SessionCommand } from './commands.js';
import type { SessionEvent } from './events.js';
import { reduceSession } from './reduce.js';
import { SESSION_POLICY, type SessionPolicy } from './policy.js';
import { newSession, type SessionSetup, type SessionState } from './state.js';

/** A recorded session, which can be replayed with the same decisions. It contains the words spoken in the call. */
export interface SessionLog {
  setup: SessionSetup;
  events: SessionEvent[];
  /** Number of events that were dropped because the session was too long to be stored. */
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
  const { turns, dtmf, voicemail, closing } = SESSION_POLICY;
  const { replies }: Partial<SessionPolicy> = policy;
  // Older sessions began with all replies available.
  const allAtStart = { ...SESSION_POLICY.replies, atStart: (replies ?? SESSION_POLICY.replies).atOnce };
  return {
    ...SESSION_POLICY,
    ...policy,
    replies: { ...allAtStart, ...replies },
    turns: { ...turns, ...policy.turns },
    dtmf: { ...dtmf, ...policy.dtmf },
    voicemail: { ...voicemail, ...policy.voicemail },
    closing: { ...closing, ...policy.closing },
  };
}
