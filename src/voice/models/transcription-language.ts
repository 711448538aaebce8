/**
 * Transcription models that take a list of languages in place of one language (`TranscriptionCreateParamsBase` and
 * `AudioTranscription` in the npm package `openai` 7.57.0;
 * https://developers.openai.com/cookbook/examples/migrating_from_whisper_to_gpt_transcribe).
 */
const TAKES_LANGUAGES = /^gpt-(live-)?transcribe/;

/** Names the language of the speech as the transcription model takes it: in ISO-639-1, without a region. */
export function transcriptionLanguage(model: string, tag: string): { languages: string[] } | { language: string } {
  const [language = tag] = tag.split('-');
  return TAKES_LANGUAGES.test(model) ? { languages: [language] } : { language };
}
