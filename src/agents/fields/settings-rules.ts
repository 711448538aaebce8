import { isDeepStrictEqual } from 'node:util';
import type { ConversationSettings } from '../../kernel/conversation/conversation-settings.js';
import { ENGINE_NAMES, type EngineName } from '../../kernel/conversation/engines.js';
import { ServiceError } from '../../kernel/errors.js';
import type { SettingFault, SettingName } from '../../kernel/conversation/settings-support.js';
import { allowedModels, type Config } from '../../platform/config/config.js';
import { stageProtocolsOf } from '../../platform/config/engines/pipeline-settings.js';
import { CONVERSATION_FIELDS } from './conversation-fields.js';
import type { CheckProviderIds, ProviderIds, Warn } from './provider-ids.js';
import { faultsOfSettings } from './supported-settings.js';

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
  policy: Pick<Config, 'production' | 'engines' | 'carriers'> | undefined,
  present?: Configured,
): void {
  const engine = engineOf(agent, policy);
  if (policy === undefined || engine === undefined) return;
  const { pipeline } = policy.engines;
  const settings = conversationSettingsOf(agent);
  const protocols = pipeline && stageProtocolsOf(pipeline);
  const faults = [...faultsOfSettings(settings, { engine, protocols }), ...modelFaults(settings, engine, policy)];
  rejectFaults(faults.filter(({ settings: involved }) => involved.some(isNewIn(agent, present))));
}

/**
 * Rejects a model or voice that the provider of the agent's engine certainly does not have. Asks only about new ones.
 * @param present the agent before a change
 * @throws ServiceError MISSING_PARAMS with a sentence for each setting
 */
export async function assertIdsKnown(
  agent: Configured & { accountId: string },
  p: { policy: Pick<Config, 'engines'> | undefined; checkIds: CheckProviderIds | undefined; warn: Warn },
  present?: Configured,
): Promise<void> {
  const engine = engineOf(agent, p.policy);
  if (p.checkIds === undefined || engine === undefined) return;
  const { model, voiceId } = conversationSettingsOf(agent);
  const isNew = isNewIn(agent, present);
  const ids: ProviderIds = {
    ...(model !== undefined && isNew('model') ? { model } : {}),
    ...(voiceId !== undefined && isNew('voiceId') ? { voiceId } : {}),
  };
  if (Object.keys(ids).length === 0) return;
  rejectFaults(await p.checkIds({ accountId: agent.accountId, engine, ids, warn: p.warn }));
}

/** The engine that conducts the agent's calls, as far as the configuration is known. */
export function engineOf(
  { engine }: Pick<Configured, 'engine'>,
  policy: Pick<Config, 'engines'> | undefined,
): EngineName | undefined {
  return ENGINE_NAMES.find((name) => name === (engine ?? policy?.engines.byDefault));
}

/** Returns whether a change sets a setting to another value, or has it used by another engine. */
function isNewIn(agent: Configured, present: Configured | undefined): (name: SettingName) => boolean {
  const [settings, before] = [conversationSettingsOf(agent), conversationSettingsOf(present ?? {})];
  const sameEngine = present !== undefined && (agent.engine ?? undefined) === present.engine;
  return (name) => !sameEngine || !isDeepStrictEqual(settings[name], before[name]);
}

/** @throws ServiceError MISSING_PARAMS if there are faults */
function rejectFaults(faults: readonly SettingFault[]): void {
  if (faults.length === 0) return;
  const named = faults.map(({ setting, why }) => [PUBLIC_NAMES[setting], `${PUBLIC_NAMES[setting]}: ${why}`] as const);
  const message = named.map(([, fault]) => fault).join(' ');
  throw new ServiceError('MISSING_PARAMS', message, { fields: Object.fromEntries(named) });
}

function modelFaults(
  { model }: ConversationSettings,
  engine: EngineName,
  policy: Pick<Config, 'production' | 'engines' | 'carriers'>,
): SettingFault[] {
  const allowed = engine === 'offline-demo' || model === undefined ? 'any' : allowedModels(policy, engine);
  if (allowed === 'any' || allowed.some((each) => each === model)) return [];
  const why = `this service allows only ${allowed.join(', ')} with ${engine} (see AGENT_MODELS).`;
  return [{ setting: 'model', settings: ['model'], why }];
}
