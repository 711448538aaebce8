import { ONE_MOMENT, SILENT_GOODBYE, SORRY } from '../local-lines.js';

/** Fixed phrases that the agent says without an LLM. */
export interface Phrases {
  /** The filler. */
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
  hi: {
    oneMoment: 'एक क्षण रुकिए।',
    areYouThere: 'क्या आप अभी लाइन पर हैं?',
    silentGoodbye: 'मुझे आपकी आवाज़ नहीं आ रही है, इसलिए मैं कॉल समाप्त कर रहा हूँ। नमस्ते।',
    sorry: 'क्षमा कीजिए, एक तकनीकी समस्या है और मुझे यह कॉल समाप्त करनी होगी। नमस्ते।',
  },
  it: {
    oneMoment: 'Un momento, per favore.',
    areYouThere: 'È ancora in linea?',
    silentGoodbye: 'Non la sento, quindi ora riaggancio. Arrivederci.',
    sorry: 'Mi dispiace, c’è un problema tecnico e devo terminare la chiamata. Arrivederci.',
  },
  ja: {
    oneMoment: '少々お待ちください。',
    areYouThere: 'もしもし、聞こえますか？',
    silentGoodbye: 'お声が聞こえませんので、お電話を切らせていただきます。失礼いたします。',
    sorry: '申し訳ございません。技術的な問題のため、お電話を切らせていただきます。失礼いたします。',
  },
  nl: {
    oneMoment: 'Een ogenblik, alstublieft.',
    areYouThere: 'Bent u er nog?',
    silentGoodbye: 'Ik kan u niet horen, dus ik hang nu op. Tot ziens.',
    sorry: 'Het spijt me, er is een technisch probleem en ik moet dit gesprek beëindigen. Tot ziens.',
  },
  pt: {
    oneMoment: 'Um momento, por favor.',
    areYouThere: 'Você ainda está aí?',
    silentGoodbye: 'Não consigo ouvir você, então vou desligar. Até logo.',
    sorry: 'Desculpe, há um problema técnico e preciso encerrar a ligação. Até logo.',
  },
};

/** Whether a language uses the English phrases. */
export function speaksEnglish(language: string): boolean {
  return phrasesOf(language) === ENGLISH;
}

/** The phrases of a language, by its primary tag; English if there are none. */
export function phrasesOf(language: string): Phrases {
  return BY_LANGUAGE[language.toLowerCase().split('-')[0] ?? ''] ?? ENGLISH;
}
