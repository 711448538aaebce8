import type { Dispatcher } from 'undici';
import type { PipelineSettings } from '../../../../platform/config/pipeline-settings.js';
import type { VoiceActivityDetector } from '../../../audio/voice-activity.js';
import type { SpeechToText } from '../ports.js';
import { createDeepgramStt } from './deepgram.js';
import { createOpenAiStt } from './openai-transcriptions.js';

type SttSettings = PipelineSettings['stt'];

interface SttDeps {
  dispatcher: Dispatcher;
  /** Creates voice activity detection for a provider that detects no turns. */
  newDetector: () => VoiceActivityDetector;
  /** How long a transcription may take, in ms. */
  timeoutMs?: number;
  /** Whether a failed request is repeated; not if another provider can take over. */
  isPatient?: boolean;
}

type CreateStt = (account: Omit<SttSettings, 'provider'>, deps: SttDeps) => SpeechToText;

/** STT providers by their name in `STT_PROVIDER`. */
const PROVIDERS: Record<SttSettings['provider'], CreateStt> = {
  deepgram: createDeepgramStt,
  openai: createOpenAiStt,
};

/** Creates the configured STT. */
export function createStt({ provider, ...account }: SttSettings, deps: SttDeps): SpeechToText {
  return PROVIDERS[provider](account, deps);
}
