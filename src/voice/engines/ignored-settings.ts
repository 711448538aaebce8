import type { ConversationSettings } from '../../kernel/conversation/conversation-settings.js';
import type { SettingName } from '../../kernel/conversation/settings-support.js';
import { clamp } from '../models/clamp.js';

/** Reports settings of the agent that the provider of a request does not have. May be called repeatedly. */
export type OnIgnored = (names: readonly SettingName[]) => void;

/** Those of the named settings that the agent has. */
export function setAmong(settings: ConversationSettings, names: readonly SettingName[]): SettingName[] {
  return names.filter((name) => settings[name] !== undefined);
}

/**
 * A number of the agent, or the nearest one that the provider accepts. A provider that cannot follow the agent's number
 * ignores it in part, and reports that.
 */
export function clampSetting(
  name: 'speechSpeed' | 'endOfTurnSilenceMs' | 'endOfTurnConfidence',
  range: readonly [min: number, max: number],
  { settings, onIgnored }: { settings: ConversationSettings; onIgnored?: OnIgnored | undefined },
): number | undefined {
  const value = settings[name];
  if (value === undefined) return undefined;
  const accepted = clamp(value, range);
  if (accepted !== value) onIgnored?.([name]);
  return accepted;
}

/** The field of the result of an engine that has only the given settings. */
export function otherSettingsIgnored(
  { settings = {} }: { settings?: ConversationSettings },
  has: readonly SettingName[],
) {
  const ignored = createIgnoredSettings();
  ignored.add(setAmong(settings, Object.keys(settings) as SettingName[]).filter((name) => !has.includes(name)));
  return ignored.inResult();
}

/** Collects the settings that were ignored in one call. */
export function createIgnoredSettings() {
  const names = new Set<SettingName>();
  return {
    add: (ignored: readonly SettingName[]) => ignored.forEach((name) => names.add(name)),
    /** The field of an engine's result; absent if no setting was ignored. */
    inResult: () => (names.size === 0 ? {} : { ignoredSettings: [...names].toSorted() }),
  };
}
