import type { Agent } from '../../../../agents/schemas.js';
import { usePortal } from '../../session';
import { Icon } from '../icon';
import { ShownInTalk } from '../studio/shown-in-talk';
import { ModeBadge } from '../values';

interface TalkCardProps {
  agent: Agent | undefined;
  /** Whether its button is the page's main one, which it is not beside the first steps. */
  isMain: boolean;
}

/** Leads to the Studio, where the member talks with an agent, or to the form of the first agent. */
export function TalkCard({ agent, isMain }: TalkCardProps) {
  const { mode, to } = usePortal();
  const leading = isMain ? 'button button-main' : 'button';
  if (agent === undefined) {
    return (
      <section class="card lead" aria-label="First agent">
        <h2>Create your first agent</h2>
        <p>
          An agent conducts your calls. You write its instruction and choose its voice, and can talk with it in the
          browser at once.
        </p>
        <a class={leading} href={to('/agents/new')}>
          <Icon name="plus" /> Create agent
        </a>
      </section>
    );
  }
  return (
    <section class="card lead" aria-label="Talk with an agent">
      <h2>Talk with an agent</h2>
      <p>
        Hear <strong class="breakable">{agent.name}</strong> {agent.mode === mode ? null : <ModeBadge of={agent} />} in
        this browser, change its instruction, and hear it again before you save. Beside the form you see:
      </p>
      <ShownInTalk />
      <div class="actions">
        <a class={leading} href={to(`/agents/${agent.agent_id}#talk`)}>
          <Icon name="microphone" /> Open in Studio
        </a>
        <a class="button" href={to('/agents/new')}>
          <Icon name="plus" /> Create agent
        </a>
      </div>
    </section>
  );
}
