/** Models that take a list of keywords (`AudioTranscription.keywords` in the npm package `openai` 7.57.0). */
const TAKES_KEYWORDS = /^gpt-(live-)?transcribe/;
/** Models that take neither keywords nor a prompt (comments of `AudioTranscription.prompt`, ibid.). */
const TAKES_NOTHING = /diarize|^gpt-realtime-whisper/;
/** Maximum length of the prompt. Whisper models use only its last 224 tokens (OpenAI's guide to speech to text). */
const MAX_PROMPT_CHARACTERS = 600;

/**
 * Names terms to a transcription model in the way it takes them: as keywords, or in a prompt. Undefined if the model takes
 * no terms.
 */
export function transcriptionHints(
  model: string,
  keyterms: readonly string[] = [],
): { keywords?: string[]; prompt?: string } | undefined {
  if (TAKES_NOTHING.test(model)) return undefined;
  if (keyterms.length === 0) return {};
  return TAKES_KEYWORDS.test(model) ? { keywords: [...keyterms] } : { prompt: promptOf(keyterms) };
}

/** The first terms that fit into the prompt. */
function promptOf(keyterms: readonly string[]): string {
  let characters = 0;
  return keyterms.filter((term) => (characters += term.length + 2) <= MAX_PROMPT_CHARACTERS).join(', ');
}
