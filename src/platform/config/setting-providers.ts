import type { StageProviders } from '../../kernel/conversation/settings-support.js';
import type { PipelineSettings } from './pipeline-settings.js';

const LLM = { openai: 'openai-chat', 'openai-responses': 'openai-responses' } as const;
const TTS = { elevenlabs: 'elevenlabs', openai: 'openai-speech' } as const;

/** The protocols that the configured pipeline uses, by which settings of agents are supported or not. */
export function stageProvidersOf({ stt, llm, tts }: Pick<PipelineSettings, 'stt' | 'llm' | 'tts'>): StageProviders {
  return { stt: sttOf(stt), llm: LLM[llm.provider], tts: TTS[tts.provider] };
}

function sttOf({ provider, model }: PipelineSettings['stt']): StageProviders['stt'] {
  if (provider === 'openai') return 'openai-transcription';
  return isFluxModel(model) ? 'deepgram-flux' : 'deepgram-nova';
}

/** Whether a model of Deepgram has the protocol of Flux; all others have that of Nova. */
export function isFluxModel(model: string): boolean {
  return model.startsWith('flux');
}
