import { AGENT_FIELDS } from '../../../../agents/agent-definition.js';
import type { Agent } from '../../../../agents/schemas.js';
import { ApiError } from '../../api';
import type { TalkRequest } from '../../talk/open-talk';
import { requestOf, type AgentForm } from '../agents/agent-form';

/** How the faults of a draft are named. */
const OF_DRAFT = 'agent.';

/**
 * Builds the request for a call with the agent as it is in the form.
 * @param isChanged whether the form differs from the stored agent
 */
export function talkRequestOf(form: AgentForm, agent: Agent | undefined, isChanged: boolean): TalkRequest {
  const ofAgent = agent === undefined ? {} : { agent_id: agent.agent_id };
  if (agent !== undefined && !isChanged) return ofAgent;
  // The service requires a name, but a draft can do without one.
  return { ...ofAgent, agent: { ...requestOf(form, undefined), name: form.name.trim() || 'Draft' } };
}

/** The sentence of a preview, by the primary tag of the language. */
const SENTENCES: Readonly<Record<string, string>> = {
  en: 'Hello, this is how I sound on a call.',
  de: 'Guten Tag, so klinge ich am Telefon.',
  es: 'Hola, así sueno en una llamada.',
  fr: 'Bonjour, voici ma voix au téléphone.',
  hi: 'नमस्ते, कॉल पर मेरी आवाज़ ऐसी है।',
  it: 'Buongiorno, questa è la mia voce al telefono.',
  ja: 'こんにちは、電話ではこのような声です。',
  nl: 'Hallo, zo klink ik aan de telefoon.',
  pt: 'Olá, é assim que eu soo em uma ligação.',
};

/** Builds the request for a call in which the voice of the form says one sentence. */
export function previewRequestOf({ engine, voice, language, voice_id, speech_speed }: AgentForm): TalkRequest {
  return {
    agent: {
      name: 'Voice preview',
      instruction: 'Say nothing more.',
      first_message: SENTENCES[language.split('-')[0] ?? ''] ?? SENTENCES['en'],
      ai_disclosure: false,
      max_duration_seconds: AGENT_FIELDS.max_duration_seconds.min,
      voice,
      language,
      ...(engine === '' ? {} : { engine }),
      ...(voice_id === '' ? {} : { voice_id }),
      ...(speech_speed === '' ? {} : { speech_speed: Number(speech_speed) }),
    },
  };
}

/** Names the faults of a draft as the form names its fields; undefined if the error is none about a draft. */
export function formErrorOf(error: Error): ApiError | undefined {
  if (!(error instanceof ApiError) || !error.faults.some(({ param }) => param.startsWith(OF_DRAFT))) return undefined;
  const faults = error.faults.map(({ param, ...fault }) => ({
    ...fault,
    param: param.startsWith(OF_DRAFT) ? param.slice(OF_DRAFT.length) : param,
  }));
  return new ApiError(error.status, error.code, error.message, { faults });
}
