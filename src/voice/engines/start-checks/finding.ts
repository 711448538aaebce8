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

/** Why a model that exists may not serve: for operators, and in a sentence for the person who saves an agent. */
export interface Caution {
  why: string;
  message: string;
}

/** The answer of a provider to the question whether it has a model or a voice. */
export type Lookup =
  /** Nothing suggests that the provider rejects it. `shutdownDate` is the day on which the provider will withdraw it. */
  | { state: 'found'; shutdownDate?: unknown; caution?: Caution }
  /** The provider certainly has no such model or voice, or does not offer it to this account. */
  | { state: 'missing' }
  | { state: 'keyRejected' }
  /** The provider did not say it. `isElsewhere` if the address is the likely reason. */
  | { state: 'unknown'; why: string; isElsewhere?: boolean };

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

/** The findings of the check of a setting that names one model. */
export function findingsOf(
  lookup: Lookup,
  { names, apiKey, model }: { names: SettingNames; apiKey: string; model: string },
): ProviderFinding[] {
  if (lookup.state === 'found') {
    const { caution, shutdownDate } = lookup;
    return [...(caution ? unchecked(names.model, caution.why) : []), ...retiring(names.model, shutdownDate)];
  }
  if (lookup.state === 'missing') return missingModel(names, model);
  if (lookup.state === 'keyRejected') return rejectedKey(names, apiKey);
  return unchecked(lookup.isElsewhere === true ? names.url : names.model, lookup.why);
}

export function fault(message: string): ProviderFinding[] {
  return [{ kind: 'fault', message }];
}

export function unchecked(setting: string, reason: string): ProviderFinding[] {
  return [{ kind: 'unchecked', setting, reason }];
}

/** @param shutdownDate such as `2027-01-20`; no finding without one */
export function retiring(setting: string, shutdownDate: unknown): ProviderFinding[] {
  const day = dayIn(shutdownDate);
  return day === undefined ? [] : [{ kind: 'retiring', setting, shutdownDate: day }];
}

/** The day in the provider's date of a shutdown, if it has announced one. */
export function dayIn(shutdownDate: unknown): string | undefined {
  return typeof shutdownDate === 'string' ? /^\d{4}-\d{2}-\d{2}/.exec(shutdownDate)?.[0] : undefined;
}

export function quoted(id: string): string {
  return JSON.stringify(id.slice(0, 100));
}
