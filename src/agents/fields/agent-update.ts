import { isDeepStrictEqual } from 'node:util';
import { updateOf } from '../../identity/accounts/accounts.js';
import { ServiceError } from '../../kernel/errors.js';
import type { Mode } from '../../kernel/ids.js';
import { CONFLICT, retryOnConflict } from '../../platform/mongo/optimistic-update.js';
import { ignoreWrites, type OnWrite } from '../../platform/mongo/writes.js';
import { AGENT_FIELDS } from '../agent-definition.js';
import { checkAgentChanges, type AgentChanges } from '../agent-fields.js';
import { modeOfAgent } from '../agent-mode.js';
import { assertAgentSize, assertTemplate, assertVoiceFits, type AgentPolicy } from '../agent-rules.js';
import type { AgentsDatabase } from '../database.js';
import type { AgentDocument } from '../model.js';
import { assertPromptSize } from '../prompt-size.js';
import type { AgentWarning, ProviderChecks, Warn } from './provider-ids.js';
import { assertIdsKnown, assertSettingsSupported } from './settings-rules.js';
import type { createUsableCheck } from './usable-check.js';
import { isSpeechNew } from './whole-agent-check.js';

/** The fields that the LLM reads. If several change and are too long together, the first one is named in the error. */
const PROMPTED = ['tools', 'instruction', 'first_message', 'pronunciations'] as const;

export interface AgentUpdateDeps {
  agents: AgentsDatabase['agents'];
  find: (agentId: string) => Promise<AgentDocument | null>;
  usable: ReturnType<typeof createUsableCheck>;
  policyOf: (mode: Mode) => AgentPolicy | undefined;
  checks: ProviderChecks | undefined;
  /** Looks for prompts that the provider may reject. */
  checkPrompt: (agent: AgentDocument, warn: Warn) => void;
}

const ignored: Warn = () => undefined;

/** Returns the function that changes a stored agent. */
export function createAgentUpdate({ agents, find, usable, policyOf, checks, checkPrompt }: AgentUpdateDeps) {
  /** Checks the changes of an agent. Returns them as they are stored. */
  async function check(present: AgentDocument, given: AgentChanges, warn: Warn) {
    // An agent whose voice or engine is no longer available can still be changed, so check only the changed fields.
    const wanted = { ...present, ...given };
    const { voice = '', language = '', engine } = wanted;
    const ofMode = policyOf(modeOfAgent(present));
    const rules = [
      () => isSpeechNew(wanted, present) && assertVoiceFits({ voice, language, engine: engine ?? undefined }, ofMode),
      () => assertSettingsSupported(wanted, ofMode, present),
      () => assertNewPromptSize(given, present),
      () => assertTemplate(given.outputParameters, present),
    ];
    const stored = { ...given, ...(await usable(given, present, rules)) };
    assertAgentSize({ ...present, ...stored }, present);
    await assertIdsKnown(wanted, { policy: ofMode, checkIds: checks?.ids, warn }, present);
    return stored;
  }

  /**
   * Changes an agent. Calls that were already requested keep their copy of the old agent.
   * @param on.warn receives what the person who saves the agent should know, although it is saved
   * @param on.write called unless the agent was as wanted already. Headers of tools are always encrypted again, so they
   *   count as a change
   */
  return function updateAgent(
    agentId: string,
    changes: AgentChanges,
    { warn = ignored, write = ignoreWrites }: { warn?: Warn; write?: OnWrite } = {},
  ): Promise<AgentDocument> {
    return retryOnConflict({ name: 'agents', maxAttempts: 60 }, async () => {
      const warnings: AgentWarning[] = [];
      const keep: Warn = (warning) => void warnings.push(warning);
      const present = await find(agentId);
      if (!present) throw new ServiceError('AGENT_NOT_FOUND', `There is no agent ${agentId}.`);
      const given = checkAgentChanges(changes);
      const stored = await check(present, given, keep);
      // The checks hold for the agent as it was read, so update only that version: each has a later time.
      const { updatedAt } = present;
      const update = { ...stored, updatedAt: new Date(Math.max(Date.now(), updatedAt.getTime() + 1)) };
      const isSame = isAsGiven(present, stored);
      const changed = isSame
        ? present
        : await agents
            .findOneAndUpdate({ _id: agentId, updatedAt }, updateOf(update), { returnDocument: 'after' })
            .lean<AgentDocument>();
      if (changed === null) return CONFLICT;
      if (!isSame) write();
      if ([...PROMPTED, 'engine' as const].some((name) => given[AGENT_FIELDS[name].stored] !== undefined))
        checkPrompt(changed, keep);
      warnings.forEach(warn);
      return changed;
    });
  };
}

/** Whether a change of these stored fields changes nothing; null removes a field. */
function isAsGiven(present: AgentDocument, given: Record<string, unknown>): boolean {
  const fields: Record<string, unknown> = { ...present };
  return Object.entries(given).every(
    ([name, value]) => value === undefined || isDeepStrictEqual(value ?? undefined, fields[name]),
  );
}

/**
 * Checks the prompt size only if the prompt changes, so that older agents with a longer prompt can still be changed.
 */
function assertNewPromptSize(given: AgentChanges, present: AgentDocument): void {
  const field = PROMPTED.find((name) => given[AGENT_FIELDS[name].stored]);
  if (field === undefined) return;
  const { instruction = present.instruction, tools = present.tools } = given;
  const { firstMessage, pronunciations } = { ...present, ...given };
  assertPromptSize(field, { instruction, tools: tools ?? [], firstMessage, pronunciations });
}
