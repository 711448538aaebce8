/** The result of a check. A check of settings that the provider accepts has none. */
export type ProviderFinding =
  /** The provider certainly rejects a setting. The message names the setting and the remedy, and contains no key. */
  | { kind: 'fault'; message: string }
  /** The provider did not say whether the setting is right. */
  | { kind: 'unchecked'; setting: string; reason: string }
  /** The provider accepts a model or voice now, but will withdraw it on this day. */
  | { kind: 'retiring'; setting: string; shutdownDate: string }
  /** The provider's voice id for each of our voices. */
  | { kind: 'voices'; voices: Record<string, string> };

/** The names of the environment variables that a check is about. */
export interface SettingNames {
  key: string;
  url: string;
  model: string;
}

/** The provider does not know the key, or needs one. @param apiKey empty if none is set */
export function rejectedKey({ key, url }: Pick<SettingNames, 'key' | 'url'>, apiKey: string): ProviderFinding[] {
  const why = apiKey === '' ? 'needs a key' : 'rejects this key';
  return fault(`${key}: the provider at ${url} ${why}. Set ${key} to a valid key of this provider.`);
}

/** The provider has no such model, or does not offer it to this account. */
export function missingModel({ url, model }: Pick<SettingNames, 'url' | 'model'>, id: string): ProviderFinding[] {
  return fault(
    `${model}: the provider at ${url} has no model ${quoted(id)} for this key. Set ${model} to one of its models.`,
  );
}

export function fault(message: string): ProviderFinding[] {
  return [{ kind: 'fault', message }];
}

export function unchecked(setting: string, reason: string): ProviderFinding[] {
  return [{ kind: 'unchecked', setting, reason }];
}

/** @param shutdownDate such as `2027-01-20`; no finding without one */
export function retiring(setting: string, shutdownDate: unknown): ProviderFinding[] {
  const day = typeof shutdownDate === 'string' ? /^\d{4}-\d{2}-\d{2}/.exec(shutdownDate)?.[0] : undefined;
  return day === undefined ? [] : [{ kind: 'retiring', setting, shutdownDate: day }];
}

export function quoted(id: string): string {
  return JSON.stringify(id.slice(0, 100));
}
