import type { ConversationSettings } from '../../kernel/conversation/conversation-settings.js';
import type { EngineName } from '../../kernel/conversation/engines.js';
import {
  UNSUPPORTED,
  type SettingFault,
  type SettingName,
  type StageProtocols,
  type Support,
} from '../../kernel/conversation/settings-support.js';
import { byteCount } from '../../kernel/text.js';
import { PIPELINE_PROTOCOLS, SETTINGS_SUPPORT } from '../../platform/config/engines/engine-providers.js';

/** An engine with the protocols of the pipeline, which decide only for the engine `pipeline`. */
export interface SettingEngine {
  engine: EngineName;
  protocols?: StageProtocols | undefined;
}

/** How an engine supports a setting, and the engine or protocol that decides it. */
export function supportOf(setting: SettingName, { engine, protocols }: SettingEngine): Support & { by: string } {
  const support = SETTINGS_SUPPORT[setting];
  if (engine !== 'pipeline') return { by: engine, ...support[engine] };
  const { pipeline } = support;
  if (!('stage' in pipeline)) return { by: engine, ...pipeline };
  const protocol = protocols?.[pipeline.stage];
  const by = protocol === undefined ? engine : `${engine} with ${protocol.name}`;
  return { by, ...(protocol?.supports[setting] ?? UNSUPPORTED) };
}

/** Lists the settings that an engine does not support, or not with these values. */
export function faultsOfSettings(settings: ConversationSettings, on: SettingEngine): SettingFault[] {
  const given = (Object.keys(SETTINGS_SUPPORT) as SettingName[]).filter((name) => settings[name] !== undefined);
  return [
    ...given.flatMap((setting) => {
      const why = faultOf(setting, settings[setting], on);
      return why === undefined ? [] : [{ setting, settings: [setting], why }];
    }),
    ...conflictsOf(settings, on),
  ];
}

function faultOf(setting: SettingName, value: unknown, on: SettingEngine): string | undefined {
  const { by, ...support } = supportOf(setting, on);
  if (support.done === 'unsupported') return `${by} does not support it; ${remedyFor(setting)}.`;
  const limit = brokenLimit(value, support);
  return limit === undefined ? undefined : `${by} accepts ${limit}.`;
}

/** OpenAI detects the end of a turn either by silence or by meaning. */
function conflictsOf(settings: ConversationSettings, { engine }: SettingEngine): SettingFault[] {
  const bySilence = (['endOfTurnSilenceMs', 'vadThreshold'] as const).filter((name) => settings[name] !== undefined);
  if (engine !== 'openai-realtime' || settings.endOfTurnEagerness === undefined || bySilence.length === 0) return [];
  const why = `${engine} ends a turn by meaning or by silence; remove this setting, or those of silence and voice detection.`;
  return [{ setting: 'endOfTurnEagerness', settings: ['endOfTurnEagerness', ...bySilence], why }];
}

function brokenLimit(value: unknown, { min, max, of, maxBytes }: Support): string | undefined {
  if (typeof value === 'number' && (value < (min ?? value) || value > (max ?? value))) {
    if (min === undefined) return `at most ${max}`;
    return max === undefined ? `at least ${min}` : `only ${min} to ${max}`;
  }
  if (of !== undefined && !of.includes(String(value))) return `only ${of.join(', ')}`;
  if (maxBytes !== undefined && byteCount((value as string[]).join('')) > maxBytes) {
    return `at most ${maxBytes} bytes in UTF-8 for all together`;
  }
  return undefined;
}

function remedyFor(setting: SettingName): string {
  const { pipeline, ...engines } = SETTINGS_SUPPORT[setting];
  const names = [
    ...Object.entries(engines).flatMap(([name, { done }]) => (done === 'unsupported' ? [] : [name])),
    ...pipelinesWith(setting, pipeline),
  ];
  return `remove the setting, or use an engine that supports it: ${names.join(', ')}`;
}

function pipelinesWith(setting: SettingName, pipeline: (typeof SETTINGS_SUPPORT)[SettingName]['pipeline']): string[] {
  if (!('stage' in pipeline)) return pipeline.done === 'unsupported' ? [] : ['pipeline'];
  const protocols = PIPELINE_PROTOCOLS[pipeline.stage];
  const able = protocols.filter(({ supports }) => (supports[setting] ?? UNSUPPORTED).done !== 'unsupported');
  return able.length === protocols.length ? ['pipeline'] : able.map(({ name }) => `pipeline with ${name}`);
}

/** Splits settings into those that an engine uses and the names of those that it ignores. */
export function splitSettings(settings: ConversationSettings, on: SettingEngine) {
  const ignored = faultsOfSettings(settings, on).map(({ setting }) => setting);
  const used = Object.entries(settings).filter(([name]) => !ignored.some((each) => each === name));
  return { used: Object.fromEntries(used) as ConversationSettings, ignored };
}
