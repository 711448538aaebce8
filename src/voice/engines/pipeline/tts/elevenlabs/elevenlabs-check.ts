import { z } from 'zod';
import { isFromElsewhere, reasonIn, type Ask, type Asking, type ProviderAnswer } from '../../../start-checks/ask.js';
import { chooseVoices, isFromLibrary, isPremade, type AccountVoice } from './account-voices.js';
import {
  fault,
  missingModel,
  quoted,
  rejectedKey,
  retiring,
  unchecked,
  type Lookup,
  type ProviderFinding,
  type SettingNames,
} from '../../../start-checks/finding.js';

/** An account of ElevenLabs. */
export interface ElevenLabsSettings {
  /** Without a path, with `https:` or `http:`. */
  baseUrl: string;
  apiKey: string;
  model: string;
  /** The voice ids in `TTS_VOICES`; none if the account's voices are to be used. */
  voices: Readonly<Record<string, string>>;
  /** `voices` is the name of the variable with the voice ids. */
  names: SettingNames & { voices: string };
}

/** They get status 402, `paid_plan_required`: dograh-hq/dograh issue 290. */
const LIBRARY_REASON = 'a free account may not use voices of the Voice Library through the API';

/** More than our voices, and few enough to ask about each. */
const MAX_CHECKED_VOICES = 20;
const PAGE_SIZE = 100;
/** A larger account uses its first 500 voices. */
const MAX_PAGES = 5;

const modelList = z.array(z.object({ model_id: z.string(), can_do_text_to_speech: z.boolean().nullish() })).min(1);
// Only the id is indispensable.
const aVoice = z.object({
  voice_id: z.string().min(1).max(100),
  category: z.string().optional().catch(undefined),
  labels: z.record(z.string(), z.string().optional().catch(undefined)).optional().catch(undefined),
  created_at_unix: z.number().optional().catch(undefined),
  is_owner: z.boolean().optional().catch(undefined),
});
const voicePage = z.object({
  voices: z.array(aVoice),
  has_more: z.boolean(),
  next_page_token: z.string().nullish(),
});

const subscription = z.object({ tier: z.string() });

/** The day on which ElevenLabs withdraws its premade ("default") voices: home-assistant/home-assistant.io issue 47697. */
const PREMADE_SHUTDOWN = '2026-12-31';

/** `code` replaces `status`, which older responses have. */
const errorBody = z.object({ detail: z.object({ code: z.string().nullish(), status: z.string().nullish() }) });

/**
 * Creates the check of ElevenLabs' key, model and voices. Without voice ids it chooses voices of the account. The request for
 * them has a longer timeout, because no call can be made without them.
 */
export function createElevenLabsCheck({ ask, askLonger }: Asking) {
  const findVoice = createVoiceLookup(ask);

  return async (settings: ElevenLabsSettings): Promise<ProviderFinding[]> => {
    const ids = [...new Set(Object.values(settings.voices))].slice(0, MAX_CHECKED_VOICES);
    const free = isFree(settings);
    const voices = ids.length === 0 ? [findVoices(settings, free)] : ids.map((id) => checkVoice(settings, id, free));
    return (await Promise.all([checkModel(settings), ...voices])).flat();
  };

  /** Whether the account is certainly a free one. Many keys may not read this. */
  async function isFree(settings: ElevenLabsSettings): Promise<boolean> {
    const answer = await ask(`${settings.baseUrl}/v1/user/subscription`, headersOf(settings));
    return answer.status === 200 && subscription.safeParse(answer.body).data?.tier === 'free';
  }

  async function checkModel(settings: ElevenLabsSettings): Promise<ProviderFinding[]> {
    const answer = await ask(`${settings.baseUrl}/v1/models`, headersOf(settings));
    if (isKeyRejected(answer)) return rejectedKey(settings.names, settings.apiKey);
    const list = answer.status === 200 ? modelList.safeParse(answer.body) : undefined;
    if (!list?.success) return unlistedModel(settings, answer);
    const listed = list.data.find((model) => model.model_id === settings.model);
    if (listed?.can_do_text_to_speech === false) return missingModel(settings.names, settings.model);
    // Newer models and those of this account may be absent from the list.
    return listed === undefined ? unchecked(settings.names.model, 'model not in the list of the account') : [];
  }

  async function checkVoice(
    settings: ElevenLabsSettings,
    id: string,
    free: Promise<boolean>,
  ): Promise<ProviderFinding[]> {
    const { names, apiKey } = settings;
    const lookup = await findVoice({ ...settings, voiceId: id });
    if (lookup.state === 'found') {
      if (lookup.isFromLibrary && (await free)) return unchecked(names.voices, LIBRARY_REASON);
      return retiring(names.voices, lookup.shutdownDate);
    }
    if (lookup.state === 'keyRejected') return rejectedKey(names, apiKey);
    if (lookup.state === 'unknown')
      return unchecked(lookup.isElsewhere === true ? names.url : names.voices, lookup.why);
    const voicesWithId = Object.entries(settings.voices).flatMap(([name, voiceId]) => (voiceId === id ? [name] : []));
    return fault(
      `${names.voices}: the account of ${names.key} has no voice ${quoted(id)}, which is set for ${voicesWithId.join(', ')}. ` +
        'Set it to the id of a voice of this account.',
    );
  }

  async function findVoices(settings: ElevenLabsSettings, free: Promise<boolean>): Promise<ProviderFinding[]> {
    const { found, faults } = await listVoices(askLonger, settings);
    if (faults !== undefined) return faults;
    const usable = (await free) ? found.filter((voice) => !isFromLibrary(voice)) : found;
    const voices = chooseVoices(usable);
    if (voices === undefined) return fault(noVoicesMessage(settings, found.length > 0));
    const hasPremade = usable.some((voice) => isPremade(voice) && Object.values(voices).includes(voice.voice_id));
    return [{ kind: 'voices', voices }, ...(hasPremade ? retiring(settings.names.voices, PREMADE_SHUTDOWN) : [])];
  }
}

/** Creates the search for a voice of an account. */
export function createVoiceLookup(ask: Ask) {
  return async (
    question: Pick<ElevenLabsSettings, 'baseUrl' | 'apiKey'> & { voiceId: string },
  ): Promise<VoiceLookup> => {
    const { baseUrl, voiceId } = question;
    const answer = await ask(`${baseUrl}/v1/voices/${encodeURIComponent(voiceId)}`, headersOf(question));
    const voice = answer.status === 200 ? aVoice.safeParse(answer.body).data : undefined;
    if (voice !== undefined) {
      const ending = isPremade(voice) ? { shutdownDate: PREMADE_SHUTDOWN } : {};
      return { state: 'found', isFromLibrary: isFromLibrary(voice), ...ending };
    }
    if (isKeyRejected(answer)) return { state: 'keyRejected' };
    if (isVoiceMissing(answer)) return { state: 'missing' };
    const why = permissionReason(answer) ?? reasonIn(answer);
    return { state: 'unknown', why, isElsewhere: isFromElsewhere(answer) };
  };
}

type VoiceLookup =
  | Exclude<Lookup, { state: 'found' }>
  | (Extract<Lookup, { state: 'found' }> & { isFromLibrary: boolean });

async function listVoices(
  ask: Ask,
  settings: ElevenLabsSettings,
): Promise<{ found: AccountVoice[]; faults?: ProviderFinding[] }> {
  const found: AccountVoice[] = [];
  let token: string | null | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const answer = await ask(pageUrl(settings, token), headersOf(settings));
    if (isKeyRejected(answer)) return { found, faults: rejectedKey(settings.names, settings.apiKey) };
    const parsed = answer.status === 200 ? voicePage.safeParse(answer.body) : undefined;
    if (!parsed?.success) return { found, faults: fault(unlistedMessage(settings, answer)) };
    found.push(...parsed.data.voices);
    token = parsed.data.next_page_token;
    if (!parsed.data.has_more || !token) break;
  }
  return { found };
}

function noVoicesMessage({ names }: ElevenLabsSettings, hasOthers: boolean): string {
  const why = hasOthers ? `no voices that it may use: ${LIBRARY_REASON}` : 'no voices';
  return `${names.voices}: the account of ${names.key} has ${why}. Add a voice to the account that it may use.`;
}

function pageUrl({ baseUrl }: ElevenLabsSettings, token: string | null | undefined): string {
  const url = new URL(`${baseUrl}/v2/voices`);
  url.searchParams.set('page_size', String(PAGE_SIZE));
  url.searchParams.set('include_total_count', 'false');
  if (token) url.searchParams.set('next_page_token', token);
  return url.href;
}

function unlistedModel({ names }: ElevenLabsSettings, answer: ProviderAnswer): ProviderFinding[] {
  return unchecked(isFromElsewhere(answer) ? names.url : names.model, permissionReason(answer) ?? reasonIn(answer));
}

/** Without a list and without voice ids, calls would have no voice. */
function unlistedMessage({ names }: ElevenLabsSettings, answer: ProviderAnswer): string {
  const reason = permissionReason(answer) ?? reasonIn(answer);
  return (
    `${names.voices} is not set, and the voices of the account of ${names.key} could not be listed (${reason}). ` +
    `Set ${names.voices}, or let the key read voices and check ${names.url}.`
  );
}

function headersOf({ apiKey }: Pick<ElevenLabsSettings, 'apiKey'>): Record<string, string> {
  return { 'xi-api-key': apiKey };
}

/** A restricted key that may not do this receives 401, too, but can be right for everything else. */
function isKeyRejected(answer: ProviderAnswer): boolean {
  return answer.status === 401 && permissionReason(answer) === undefined;
}

function permissionReason(answer: ProviderAnswer): string | undefined {
  return codesIn(answer).includes('missing_permissions') ? 'the key lacks the permission' : undefined;
}

function isVoiceMissing(answer: ProviderAnswer): boolean {
  if (answer.status !== 404 && answer.status !== 400) return false;
  return codesIn(answer).some((code) => code === 'voice_not_found' || code === 'voice_does_not_exist');
}

function codesIn(answer: ProviderAnswer): (string | null | undefined)[] {
  const detail = answer.status === undefined ? undefined : errorBody.safeParse(answer.body).data?.detail;
  return [detail?.code, detail?.status];
}
