import { parseConfig } from '../../../../src/platform/config/config.js';
import { createLogger } from '../../../../src/platform/telemetry/logger.js';
import { createSynthesizer } from '../../../../src/voice/audio/flite.js';
import { createConfiguredEngines } from '../../../../src/voice/engines/configured-engines.js';
import type { EngineCall } from '../../../../src/voice/engines/port.js';
import { openFakeChat } from '../fakes/chat-completions';
import { openFakeDeepgram } from '../fakes/deepgram';
import { startFakeRealtime } from '../fakes/openai-realtime';
import { openFakeElevenLabs } from '../fakes/elevenlabs';
import { CALL } from './contract-call';
import { openEngineLine } from './engine-line';

export type SuccessorHarness = Awaited<ReturnType<typeof openBothEngines>>;

/**
 * Starts the fakes of `openai-realtime` and `pipeline`, and both engines as a service with both configures them.
 * @param env further variables
 */
export async function openBothEngines(env: Record<string, string> = {}) {
  const realtime = await startFakeRealtime();
  const stt = await openFakeDeepgram();
  const chat = await openFakeChat();
  const tts = await openFakeElevenLabs();
  const callers = createSynthesizer();
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  const config = parseConfig({
    ENGINE: 'openai-realtime',
    OPENAI_API_KEY: 'test-key',
    OPENAI_BASE_URL: realtime.baseUrl,
    DEEPGRAM_API_KEY: 'stt-key',
    STT_BASE_URL: `ws://127.0.0.1:${stt.port}`,
    LLM_API_KEY: 'llm-key',
    LLM_BASE_URL: `http://127.0.0.1:${chat.port}/v1`,
    ELEVENLABS_API_KEY: 'tts-key',
    TTS_BASE_URL: `ws://127.0.0.1:${tts.port}`,
    TTS_MODEL: 'test-voice-v2_5',
    TTS_VOICES: 'amber=voice-amber',
    ...env,
  });
  const engines = createConfiguredEngines({
    config,
    logger: createLogger({ role: 'media', level: 'warn', destination }),
  });
  await engines.warm();
  const factory = engines.engineFor({ mode: 'live', agent: {} } as Parameters<typeof engines.engineFor>[0]);

  return {
    realtime,
    stt,
    chat,
    /** Lines of the log. */
    lines,
    speak: (text: string) => callers.speak(text, 'rms'),
    dial: (changes: Partial<EngineCall> = {}) =>
      openEngineLine(factory.create(), { ...CALL, outputTemplate: {}, ...changes }),
    async close(): Promise<void> {
      await engines.close();
      await Promise.all([callers.close(), realtime.close(), stt.close(), chat.close(), tts.close()]);
    },
  };
}
