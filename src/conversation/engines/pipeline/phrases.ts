import { ONE_MOMENT, SILENT_GOODBYE, SORRY } from '../../local-lines.js';

/** What the agent says of its own accord, without a model. */
export interface Phrases {
  /** An answer takes long. */
  oneMoment: string;
  areYouThere: string;
  silentGoodbye: string;
  sorry: string;
}

const ENGLISH: Phrases = {
  oneMoment: ONE_MOMENT,
  areYouThere: 'Are you still there?',
  silentGoodbye: SILENT_GOODBYE,
  sorry: SORRY,
};

const BY_LANGUAGE: Record<string, Phrases> = {
  en: ENGLISH,
  de: {
    oneMoment: 'Einen Moment bitte.',
    areYouThere: 'Sind Sie noch da?',
    silentGoodbye: 'Ich kann Sie nicht hören und lege jetzt auf. Auf Wiederhören.',
    sorry: 'Es tut mir leid, es gibt ein technisches Problem und ich muss das Gespräch beenden. Auf Wiederhören.',
  },
  es: {
    oneMoment: 'Un momento, por favor.',
    areYouThere: '¿Sigue ahí?',
    silentGoodbye: 'No le oigo, así que voy a colgar. Adiós.',
    sorry: 'Lo siento, hay un problema técnico y tengo que terminar la llamada. Adiós.',
  },
  fr: {
    oneMoment: 'Un instant, s’il vous plaît.',
    areYouThere: 'Vous êtes toujours là ?',
    silentGoodbye: 'Je ne vous entends pas, je vais donc raccrocher. Au revoir.',
    sorry: 'Je suis désolé, il y a un problème technique et je dois terminer cet appel. Au revoir.',
  },
};

/** Whether a language's phrases are its own. */
export function speaksEnglish(language: string): boolean {
  return phrasesOf(language) === ENGLISH;
}

/** The phrases of a language, by its first part; English where there are none. */
export function phrasesOf(language: string): Phrases {
  return BY_LANGUAGE[language.toLowerCase().split('-')[0] ?? ''] ?? ENGLISH;
}
