import { ONE_MOMENT, SILENT_GOODBYE, SORRY } from '../offline-phrases.js';

/** Fixed phrases that the agent says without an LLM. */
export interface Phrases {
  /** Said when the LLM is slow. */
  filler: string;
  reprompt: string;
  silenceGoodbye: string;
  apology: string;
}

const ENGLISH: Phrases = {
  filler: ONE_MOMENT,
  reprompt: 'Are you still there?',
  silenceGoodbye: SILENT_GOODBYE,
  apology: SORRY,
};

const BY_LANGUAGE: Record<string, Phrases> = {
  en: ENGLISH,
  de: {
    filler: 'Einen Moment bitte.',
    reprompt: 'Sind Sie noch da?',
    silenceGoodbye: 'Ich kann Sie nicht hören und lege jetzt auf. Auf Wiederhören.',
    apology: 'Es tut mir leid, es gibt ein technisches Problem und ich muss das Gespräch beenden. Auf Wiederhören.',
  },
  es: {
    filler: 'Un momento, por favor.',
    reprompt: '¿Sigue ahí?',
    silenceGoodbye: 'No le oigo, así que voy a colgar. Adiós.',
    apology: 'Lo siento, hay un problema técnico y tengo que terminar la llamada. Adiós.',
  },
  fr: {
    filler: 'Un instant, s’il vous plaît.',
    reprompt: 'Vous êtes toujours là ?',
    silenceGoodbye: 'Je ne vous entends pas, je vais donc raccrocher. Au revoir.',
    apology: 'Je suis désolé, il y a un problème technique et je dois terminer cet appel. Au revoir.',
  },
  hi: {
    filler: 'एक क्षण रुकिए।',
    reprompt: 'क्या आप अभी लाइन पर हैं?',
    silenceGoodbye: 'मुझे आपकी आवाज़ नहीं आ रही है, इसलिए मैं कॉल समाप्त कर रहा हूँ। नमस्ते।',
    apology: 'क्षमा कीजिए, एक तकनीकी समस्या है और मुझे यह कॉल समाप्त करनी होगी। नमस्ते।',
  },
  it: {
    filler: 'Un momento, per favore.',
    reprompt: 'È ancora in linea?',
    silenceGoodbye: 'Non la sento, quindi ora riaggancio. Arrivederci.',
    apology: 'Mi dispiace, c’è un problema tecnico e devo terminare la chiamata. Arrivederci.',
  },
  ja: {
    filler: '少々お待ちください。',
    reprompt: 'もしもし、聞こえますか？',
    silenceGoodbye: 'お声が聞こえませんので、お電話を切らせていただきます。失礼いたします。',
    apology: '申し訳ございません。技術的な問題のため、お電話を切らせていただきます。失礼いたします。',
  },
  nl: {
    filler: 'Een ogenblik, alstublieft.',
    reprompt: 'Bent u er nog?',
    silenceGoodbye: 'Ik kan u niet horen, dus ik hang nu op. Tot ziens.',
    apology: 'Het spijt me, er is een technisch probleem en ik moet dit gesprek beëindigen. Tot ziens.',
  },
  pt: {
    filler: 'Um momento, por favor.',
    reprompt: 'Você ainda está aí?',
    silenceGoodbye: 'Não consigo ouvir você, então vou desligar. Até logo.',
    apology: 'Desculpe, há um problema técnico e preciso encerrar a ligação. Até logo.',
  },
};

/** Whether a language uses the English phrases. */
export function usesEnglishPhrases(language: string): boolean {
  return findPhrases(language) === ENGLISH;
}

/** The phrases of a language, by its primary tag; English if there are none. */
export function findPhrases(language: string): Phrases {
  return BY_LANGUAGE[language.toLowerCase().split('-')[0] ?? ''] ?? ENGLISH;
}
