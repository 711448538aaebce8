import { Agent } from 'undici';
import type { CheckProviderIds, ProviderIds } from '../../../agents/fields/provider-ids.js';
import type { SettingFault } from '../../../kernel/conversation/settings-support.js';
import type { Config } from '../../../platform/config/config.js';
import { createAsk, type Ask } from '../start-checks/ask.js';
import { httpUrlOf } from '../start-checks/check-providers.js';
import { createVoiceLookup } from '../start-checks/elevenlabs.js';
import { dayIn, quoted, type Lookup } from '../start-checks/finding.js';
import { createOpenAiLookup } from '../start-checks/openai.js';
import { createBoundedLookups } from './bounded-lookups.js';

/** How long a provider may take, in ms. The request that saves the agent waits for it. */
const ASK_WITHIN_MS = 1_000;

type IdName = keyof ProviderIds;

/** An id that the first provider of an engine may not have. */
interface Suspect {
  setting: IdName;
  id: string;
  /** The provider to ask; undefined if it cannot be asked. */
  provider: { key: string; find(ask: Ask, id: string): Promise<Lookup> } | undefined;
}

/** The field of an agent whose id was not checked, or that its provider will withdraw, and the reason. */
export interface IdWarning {
  field: 'model' | 'voice_id';
  why: string;
}

const FIELDS = { model: 'model', voiceId: 'voice_id' } as const satisfies Record<IdName, string>;

/**
 * Creates the check of the models and voices that agents name. It asks the first provider of the agent's engine, at the
 * operator's address. Only a certain "no such model" or "no such voice" is a fault.
 * @param deps.onWarning receives what could not be checked. It has no id, because ids may be names of people
 */
export function createAgentIdCheck(
  config: Pick<Config, 'engines'>,
  deps: { onWarning(warning: IdWarning): void; withinMs?: number },
): CheckProviderIds {
  const find = createBoundedLookups();

  async function check(accountId: string, { setting, id, provider }: Suspect): Promise<SettingFault[]> {
    const lookup: Lookup =
      provider === undefined
        ? { state: 'unknown', why: 'the provider has no list of them' }
        : await find({
            accountId,
            key: JSON.stringify([setting, provider.key, id]),
            ask: () => askOnce((ask) => provider.find(ask, id), deps.withinMs ?? ASK_WITHIN_MS),
          });
    if (lookup.state === 'missing') return [missing(setting, id)];
    const why = warningOf(lookup);
    if (why !== undefined) deps.onWarning({ field: FIELDS[setting], why });
    return [];
  }

  return async ({ accountId, engine, ids }) => {
    const suspects = (Object.entries(ids) as [IdName, string][]).map(([setting, id]): Suspect => {
      return { setting, id, provider: PROVIDERS[setting](config.engines, engine) };
    });
    return (await Promise.all(suspects.map((suspect) => check(accountId, suspect)))).flat();
  };
}

/** The first provider that would use an id of an agent, by the setting with the id. */
const PROVIDERS: Record<
  IdName,
  (engines: Config['engines'], engine: Parameters<CheckProviderIds>[0]['engine']) => Suspect['provider']
> = {
  model({ openaiRealtime, pipeline }, engine) {
    const account = engine === 'pipeline' ? pipeline?.llm : openaiRealtime;
    return account && { key: engine, find: (ask, model) => createOpenAiLookup(ask)({ ...account, model }) };
  },
  voiceId({ pipeline }, engine) {
    // `/audio/speech` and OpenAI's realtime interface have no lists of voices.
    if (engine !== 'pipeline' || pipeline?.tts.provider !== 'elevenlabs') return undefined;
    const { apiKey, baseUrl } = pipeline.tts;
    const account = { apiKey, baseUrl: httpUrlOf(baseUrl) };
    return { key: engine, find: (ask, voiceId) => createVoiceLookup(ask)({ ...account, voiceId }) };
  },
};

async function askOnce(find: (ask: Ask) => Promise<Lookup>, withinMs: number): Promise<Lookup> {
  const dispatcher = new Agent();
  try {
    return await find(createAsk({ dispatcher, signal: AbortSignal.timeout(withinMs) }));
  } finally {
    await dispatcher.destroy();
  }
}

function missing(setting: IdName, id: string): SettingFault {
  const what = setting === 'model' ? 'model' : 'voice';
  const why = `the provider has no ${what} ${quoted(id)} for this service. Use one that it has, or remove the setting.`;
  return { setting, settings: [setting], why };
}

function warningOf(lookup: Lookup): string | undefined {
  if (lookup.state === 'unknown') return lookup.why;
  if (lookup.state === 'keyRejected') return 'the provider rejects the key of this service';
  const day = lookup.state === 'found' ? dayIn(lookup.shutdownDate) : undefined;
  return day === undefined ? undefined : `the provider will withdraw it on ${day}`;
}
