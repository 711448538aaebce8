import { Agent } from 'undici';
import type { AgentWarning, CheckProviderIds, ProviderIds, Warn } from '../../../agents/fields/provider-ids.js';
import type { SettingFault } from '../../../kernel/conversation/settings-support.js';
import type { Config } from '../../../platform/config/config.js';
import type { PipelineSettings } from '../../../platform/config/engines/pipeline-settings.js';
import { REALTIME_VOICES } from '../voices.js';
import { PIPELINE_PROVIDERS } from '../pipeline/providers/list.js';
import { createAsk, type Ask } from '../start-checks/ask.js';
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

const NO_LIST = 'the provider has no list of them';
const FIELDS = { model: 'model', voiceId: 'voice_id' } as const satisfies Record<IdName, string>;

/**
 * Creates the check of the models and voices that agents name. It asks the first provider of the agent's engine, at the
 * operator's address. Only a certain "no such model" or "no such voice" is a fault. An id that could not be checked is a warning
 * without the id, because ids may be names of people.
 */
export function createAgentIdCheck(config: Pick<Config, 'engines'>): CheckProviderIds {
  const find = createBoundedLookups();

  async function check(accountId: string, { setting, id, provider }: Suspect, warn: Warn): Promise<SettingFault[]> {
    const lookup: Lookup =
      provider === undefined
        ? { state: 'unknown', why: NO_LIST }
        : await find({
            accountId,
            key: JSON.stringify([setting, provider.key, id]),
            ask: () => askOnce((ask) => provider.find(ask, id)),
          });
    if (lookup.state === 'missing') return [missing(setting, id)];
    const warning = warningOf(lookup);
    if (warning !== undefined) warn({ field: FIELDS[setting], ...warning });
    return [];
  }

  return async ({ accountId, engine, ids, warn }) => {
    const suspects = (Object.entries(ids) as [IdName, string][]).map(([setting, id]): Suspect => {
      return { setting, id, provider: PROVIDERS[setting](config.engines, engine) };
    });
    return (await Promise.all(suspects.map((suspect) => check(accountId, suspect, warn)))).flat();
  };
}

/** The first provider that would use an id of an agent, by the setting with the id. */
const PROVIDERS: Record<
  IdName,
  (engines: Config['engines'], engine: Parameters<CheckProviderIds>[0]['engine']) => Suspect['provider']
> = {
  model({ openaiRealtime, pipeline }, engine) {
    if (engine === 'pipeline') return pipeline && modelOfPipeline(pipeline.llm, engine);
    return (
      openaiRealtime && { key: engine, find: (ask, model) => createOpenAiLookup(ask)({ ...openaiRealtime, model }) }
    );
  },
  voiceId({ pipeline }, engine) {
    if (engine === 'pipeline') return pipeline && voiceOfPipeline(pipeline.tts, engine);
    return { key: engine, find: (_ask, voice) => Promise.resolve(findRealtimeVoice(voice)) };
  },
};

function modelOfPipeline(llm: PipelineSettings['llm'], key: string): Suspect['provider'] {
  const { findModel } = PIPELINE_PROVIDERS.llm[llm.provider];
  return findModel && { key, find: (ask, model) => findModel(ask, { ...llm, model }) };
}

function voiceOfPipeline(tts: PipelineSettings['tts'], key: string): Suspect['provider'] {
  const { findVoice } = PIPELINE_PROVIDERS.tts[tts.provider];
  return findVoice && { key, find: (ask, voiceId) => findVoice(ask, tts, voiceId) };
}

/** OpenAI's realtime interface has no list of voices, and may have newer ones than those known here. */
function findRealtimeVoice(voice: string): Lookup {
  if (REALTIME_VOICES.includes(voice)) return { state: 'found' };
  return { state: 'unknown', why: NO_LIST };
}

async function askOnce(find: (ask: Ask) => Promise<Lookup>): Promise<Lookup> {
  const dispatcher = new Agent();
  try {
    return await find(createAsk({ dispatcher, signal: AbortSignal.timeout(ASK_WITHIN_MS) }));
  } finally {
    await dispatcher.destroy();
  }
}

function missing(setting: IdName, id: string): SettingFault {
  const what = setting === 'model' ? 'model' : 'voice';
  const why = `the provider has no ${what} ${quoted(id)} for this service. Use one that it has, or remove the setting.`;
  return { setting, settings: [setting], why };
}

function warningOf(lookup: Lookup): Pick<AgentWarning, 'why' | 'message'> | undefined {
  if (lookup.state === 'unknown') return unchecked(lookup.why);
  if (lookup.state === 'keyRejected') return unchecked('the provider rejects the key of this service');
  if (lookup.state === 'found' && lookup.caution !== undefined) return lookup.caution;
  const day = lookup.state === 'found' ? dayIn(lookup.shutdownDate) : undefined;
  if (day === undefined) return undefined;
  const why = `the provider will withdraw it on ${day}`;
  return { why, message: `The provider will withdraw it on ${day}. Use another one before that day.` };
}

function unchecked(why: string): Pick<AgentWarning, 'why' | 'message'> {
  const cause =
    why === NO_LIST ? 'The provider has no list to check it' : `The provider could not be asked about it (${why})`;
  return { why, message: `${cause}. If it is wrong, only a call shows that.` };
}
