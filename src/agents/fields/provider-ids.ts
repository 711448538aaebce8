import type { ConversationSettings } from '../../kernel/conversation/conversation-settings.js';
import type { EngineName } from '../../kernel/conversation/engines.js';
import type { SettingFault } from '../../kernel/conversation/settings-support.js';
import type { AgentSnapshot } from '../agent-snapshot.js';

/** The settings of an agent whose values only the provider of its engine knows. */
export type ProviderIds = Pick<ConversationSettings, 'model' | 'voiceId'>;

/** A warning for the person who saves an agent. The agent is saved all the same. It has no id and no words of the prompt. */
export interface AgentWarning {
  field: 'model' | 'voice_id' | 'instruction';
  /** The cause in a few words, for the log. */
  why: string;
  /** One or more sentences for the person. */
  message: string;
}

export type Warn = (warning: AgentWarning) => void;

/**
 * Asks the first provider of an engine whether it has the models and voices that an agent names. Returns a fault only if
 * the provider certainly has no such model or voice; if it cannot be asked, the agent is saved with a warning.
 */
export type CheckProviderIds = (p: {
  /** The account that pays for the question with its limits. */
  accountId: string;
  engine: EngineName;
  ids: ProviderIds;
  warn: Warn;
}) => Promise<SettingFault[]>;

/** Looks for a prompt that the provider of an engine may reject. The agent is saved all the same, so this only warns. */
export type CheckPrompt = (p: { engine: EngineName; agent: AgentSnapshot; warn: Warn }) => void;

/** Checks of an agent that depend on the providers of its engine. */
export interface ProviderChecks {
  ids: CheckProviderIds;
  prompt: CheckPrompt;
}
