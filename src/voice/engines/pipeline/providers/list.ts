import type { ProviderList } from './description.js';
import { deepgram } from '../stt/deepgram/index.js';
import { openAiTranscriptions } from '../stt/openai-transcriptions.js';
import { openAiChat } from '../llm/chat-completions.js';
import { openAiResponses } from '../llm/openai-responses.js';
import { elevenLabs } from '../tts/elevenlabs/index.js';
import { openAiSpeech } from '../tts/openai-speech.js';

/** The providers of the `pipeline` engine. Made by `npm run structure` from the descriptions that their files export. */
export const PIPELINE_PROVIDERS: ProviderList = {
  stt: {
    [deepgram.name]: deepgram,
    [openAiTranscriptions.name]: openAiTranscriptions,
  },
  llm: {
    [openAiChat.name]: openAiChat,
    [openAiResponses.name]: openAiResponses,
  },
  tts: {
    [elevenLabs.name]: elevenLabs,
    [openAiSpeech.name]: openAiSpeech,
  },
};
