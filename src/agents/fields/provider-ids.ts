import type { ConversationSettings } from '../../kernel/conversation/conversation-settings.js';
import type { EngineName } from '../../kernel/conversation/engines.js';
import type { SettingFault } from '../../kernel/conversation/settings-support.js';

/** The settings of an agent whose values only the provider of its engine knows. */
export type ProviderIds = Pick<ConversationSettings, 'model' | 'voiceId'>;

/**
 * Asks the first provider of an engine whether it has the models and voices that an agent names. Returns a fault only if
 * the provider certainly has no such model or voice; if it cannot be asked, the agent is saved.
 */
export type CheckProviderIds = (p: {
  /** The account that pays for the question with its limits. */
  accountId: string;
  engine: EngineName;
  ids: ProviderIds;
}) => Promise<SettingFault[]>;
