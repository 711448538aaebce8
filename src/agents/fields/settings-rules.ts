import { isDeepStrictEqual } from 'node:util';
import type { ConversationSettings } from '../../kernel/conversation/conversation-settings.js';
import { ENGINE_NAMES, type EngineName } from '../../kernel/conversation/engines.js';
import { ServiceError } from '../../kernel/errors.js';
import { faultsOfSettings, type SettingFault, type SettingName } from '../../kernel/conversation/settings-support.js';
import { allowedModels, type Config } from '../../platform/config/config.js';
import { stageProvidersOf } from '../../platform/config/setting-providers.js';
import { CONVERSATION_FIELDS } from './conversation-fields.js';

type Configured = { engine?: string | null | undefined } & { [F in SettingName]?: unknown };

const PUBLIC_NAMES = Object.fromEntries(
  Object.entries(CONVERSATION_FIELDS).map(([name, { stored }]) => [stored, name]),
) as Record<SettingName, string>;

/** The settings of the conversation among the fields of an agent, by their stored names. Unset ones are absent. */
export function conversationSettingsOf(stored: { [F in SettingName]?: unknown }): ConversationSettings {
  const names = Object.keys(PUBLIC_NAMES) as SettingName[];
  return Object.fromEntries(
    names.flatMap((name) => ((stored[name] ?? undefined) === undefined ? [] : [[name, stored[name]]])),
  );
}

/**
 * Rejects settings that the first provider of the agent's engine does not support. If the engine stays the same, only
 * changed settings are checked, so that an agent can be changed after the operator chose another provider.
 * @param present the agent before a change
 * @throws ServiceError MISSING_PARAMS with a sentence for each setting
 */
export function assertSettingsSupported(
  agent: Configured,
  policy: Pick<Config, 'engines' | 'carriers'> | undefined,
  present?: Configured,
): void {
  const engine = ENGINE_NAMES.find((name) => name === (agent.engine ?? policy?.engines.byDefault));
  if (policy === undefined || engine === undefined) return;
  const { pipeline } = policy.engines;
  const settings = conversationSettingsOf(agent);
  const sameEngine = present !== undefined && (agent.engine ?? undefined) === present.engine;
  const isOld = (name: SettingName) => sameEngine && isDeepStrictEqual(settings[name], present[name]);
  const providers = pipeline && stageProvidersOf(pipeline);
  const faults = [...faultsOfSettings(settings, { engine, providers }), ...modelFaults(settings, engine, policy)]
    .filter(({ settings: involved }) => !involved.every(isOld))
    .map(({ setting, why }) => [PUBLIC_NAMES[setting], `${PUBLIC_NAMES[setting]}: ${why}`] as const);
  if (faults.length === 0) return;
  const message = faults.map(([, fault]) => fault).join(' ');
  throw new ServiceError('MISSING_PARAMS', message, { fields: Object.fromEntries(faults) });
}

function modelFaults(
  { model }: ConversationSettings,
  engine: EngineName,
  policy: Pick<Config, 'engines' | 'carriers'>,
): SettingFault[] {
  const allowed = engine === 'offline-demo' || model === undefined ? 'any' : allowedModels(policy, engine);
  if (allowed === 'any' || allowed.some((each) => each === model)) return [];
  const why = `this service allows only ${allowed.join(', ')} with ${engine} (see AGENT_MODELS).`;
  return [{ setting: 'model', settings: ['model'], why }];
}
