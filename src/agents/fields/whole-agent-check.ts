import { engineConfigOf } from '../../platform/config/config.js';
import type { Mode } from '../../kernel/ids.js';
import { AGENT_FIELDS, type AgentFields } from '../agent-definition.js';
import { checkAgentFields } from '../agent-fields.js';
import { assertAgentSize, assertTemplate, assertVoiceFits, type AgentPolicy } from '../agent-rules.js';
import type { AgentDocument, StoredAgentFields } from '../model.js';
import { assertPromptSize } from '../prompt-size.js';
import type { CheckProviderIds, Warn } from './provider-ids.js';
import { assertIdsKnown, assertSettingsSupported } from './settings-rules.js';
import type { createUsableCheck } from './usable-check.js';

type FilledByService = 'maxDurationSeconds' | 'ringTimeoutSeconds';

/** All fields of an agent. The maximum duration defaults to 600 s and the ring timeout to 30 s. */
export type GivenFields = Omit<AgentFields, FilledByService> & Partial<Pick<AgentFields, FilledByService>>;

/** A change of one of these fields is checked together with the other two. */
const SPEECH = ['voice', 'language', 'engine'] as const;

type Speech = { readonly [F in (typeof SPEECH)[number]]?: string | null | undefined };

/** Whether the agent speaks with another voice, language or engine than before. */
export function isSpeechNew(wanted: Speech, present: Speech | undefined): boolean {
  return SPEECH.some((field) => (wanted[field] ?? undefined) !== present?.[field]);
}

interface Owner {
  accountId: string;
  mode: Mode;
  present?: AgentDocument | undefined;
  warn: Warn;
}

/**
 * Creates the check of an agent as a whole.
 * @param p.policy absent when the configuration is unknown
 */
export function createWholeAgentCheck(p: {
  usable: ReturnType<typeof createUsableCheck>;
  policy: AgentPolicy | undefined;
  checkIds: CheckProviderIds | undefined;
}) {
  /**
   * Checks all fields of an agent.
   * @param owner.mode the agent's mode
   * @param owner.present the agent as it is stored. Its tools keep their secret headers, and settings that the service
   *   no longer offers may stay as they are
   * @param owner.warn receives what is no fault
   * @returns the fields as stored
   * @throws ServiceError MISSING_PARAMS with all faults
   */
  return async (wanted: GivenFields, { accountId, mode, present, warn }: Owner): Promise<StoredAgentFields> => {
    const fields = checkAgentFields({
      maxDurationSeconds: AGENT_FIELDS.max_duration_seconds.initial,
      ringTimeoutSeconds: AGENT_FIELDS.ring_timeout_seconds.initial,
      ...wanted,
    });
    const policy = p.policy && engineConfigOf(p.policy, mode);
    const { tools: given, ...others } = fields;
    const tools = given ?? [];
    const checks = [
      () => isSpeechNew(fields, present) && assertVoiceFits(fields, policy),
      () => assertSettingsSupported(fields, policy, present),
      () => assertPromptSize(tools.length > 0 ? 'tools' : 'instruction', { ...fields, tools }),
      () => assertTemplate(fields.outputParameters, present),
    ];
    const stored = { ...others, ...(await p.usable(fields, { accountId, tools: present?.tools }, checks)) };
    assertAgentSize(stored, present);
    await assertIdsKnown({ ...fields, accountId }, { policy, checkIds: p.checkIds, warn }, present);
    return stored;
  };
}
