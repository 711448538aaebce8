import { VOICES } from '../../../../../kernel/conversation/voices.js';

/** A voice in the list of an account, with ElevenLabs' names. */
export interface AccountVoice {
  voice_id: string;
  category?: string | undefined;
  labels?: Record<string, string | undefined> | undefined;
  created_at_unix?: number | undefined;
  is_owner?: boolean | undefined;
}

interface Wish {
  gender?: string;
  accent?: string;
}

/** The labels that a voice of the account should have to be used as one of our voices. */
const WISHES: Readonly<Record<string, Wish>> = {
  amber: { gender: 'female' },
  cobalt: { gender: 'male' },
  slate: { gender: 'male', accent: 'british' },
  copper: { gender: 'male' },
};

/** Whether ElevenLabs provides the voice to accounts created before March 2026, and will withdraw it. */
export function isPremade({ category }: AccountVoice): boolean {
  return category === 'premade';
}

/** Whether the voice was copied from the Voice Library. Free accounts may not use such voices through the API. */
export function isFromLibrary(voice: AccountVoice): boolean {
  return voice.is_owner === false && !isPremade(voice);
}

/**
 * Chooses a voice of the account for each of our voices: the right gender matters most, then that ElevenLabs does not
 * withdraw the voice, then the accent, then that each of our voices has its own. Clones of a person come last, and older
 * voices first, so that a new voice in the account changes little.
 * @returns voice ids by the name of our voice; undefined if the account has no voices
 */
export function chooseVoices(account: readonly AccountVoice[]): Record<string, string> | undefined {
  const inOrder = account.toSorted(
    (a, b) =>
      Number(a.category === 'cloned') - Number(b.category === 'cloned') ||
      (a.created_at_unix ?? 0) - (b.created_at_unix ?? 0) ||
      (a.voice_id < b.voice_id ? -1 : 1),
  );
  if (inOrder.length === 0) return undefined;
  const chosen = new Map<string, string>();
  // A voice with an accent chooses first. Otherwise another one could take the only voice that has it.
  for (const { name } of VOICES.toSorted((a, b) => wishesOf(b.name) - wishesOf(a.name))) {
    const taken = new Set(chosen.values());
    const best = inOrder.toSorted((a, b) => fitOf(b, name, taken) - fitOf(a, name, taken))[0];
    if (best !== undefined) chosen.set(name, best.voice_id);
  }
  return Object.fromEntries(VOICES.flatMap(({ name }) => (chosen.has(name) ? [[name, chosen.get(name) ?? '']] : [])));
}

function wishesOf(name: string): number {
  return Object.keys(WISHES[name] ?? {}).length;
}

/** How well a voice of the account fits one of ours; higher is better. */
function fitOf(voice: AccountVoice, name: string, taken: ReadonlySet<string>): number {
  const { gender, accent } = WISHES[name] ?? {};
  const label = (key: string) => voice.labels?.[key]?.toLowerCase() ?? '';
  let fit = 0;
  if (gender === undefined || label('gender') === gender) fit += 16;
  // A voice without the label may have the gender; one with another label has not.
  else if (!['male', 'female'].includes(label('gender'))) fit += 8;
  if (!isPremade(voice)) fit += 4;
  if (accent !== undefined && label('accent') === accent) fit += 2;
  if (!taken.has(voice.voice_id)) fit += 1;
  return fit;
}
