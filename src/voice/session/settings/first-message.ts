import { fillParameters } from '../../../agents/prompt-values.js';
import type { EngineCall } from '../../engines/port.js';

/** The sentence that discloses the AI, by the language's primary tag. */
const DISCLOSURES: Readonly<Record<string, string>> = {
  en: 'You are speaking with an AI assistant.',
  de: 'Sie sprechen mit einem KI-Assistenten.',
  es: 'Está hablando con un asistente de inteligencia artificial.',
  fr: 'Vous parlez avec un assistant d’intelligence artificielle.',
  hi: 'आप एक एआई सहायक से बात कर रहे हैं।',
  it: 'Sta parlando con un assistente di intelligenza artificiale.',
  ja: 'こちらはAIアシスタントです。',
  nl: 'U spreekt met een AI-assistent.',
  pt: 'Você está falando com um assistente de inteligência artificial.',
};

/** Words that tell in these languages that a machine is speaking. */
const ABBREVIATIONS = /(?<!\p{Script=Latin})(A\.?I|KI|IA)(?!\p{Script=Latin})/u;
const TELLS =
  /artifi[cz]i|künstlich|kunstmatig|人工知能|एआई|कृत्रिम|\b(automated|virtual|digital) (voice )?(assistant|agent)\b/iu;

/**
 * The agent's first message, with the input parameters; undefined if the model finds its own words. If the agent must say
 * that it is an AI and the message does not, a sentence that does is said before it.
 */
export function firstMessageOf(call: Pick<EngineCall, 'settings' | 'inputParameters' | 'disclosesAi' | 'language'>) {
  const message = fillParameters(call.settings?.firstMessage ?? '', call.inputParameters).trim();
  if (call.settings?.firstMessage === undefined || message === '') return undefined;
  // The value of a parameter, such as the name of a company, does not tell who is speaking.
  const own = call.settings.firstMessage.replaceAll(/\{\{[^{}]*\}\}/g, ' ');
  if (!call.disclosesAi || ABBREVIATIONS.test(own) || TELLS.test(own)) return message;
  const disclosure = DISCLOSURES[call.language.toLowerCase().split('-')[0] ?? ''] ?? DISCLOSURES['en'];
  return `${disclosure} ${message}`;
}
