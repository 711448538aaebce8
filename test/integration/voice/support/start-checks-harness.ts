import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseConfig } from '../../../../src/platform/config/config.js';
import { createLogger } from '../../../../src/platform/telemetry/logger.js';
import { withCheckedProviders } from '../../../../src/voice/engines/start-checks/check-providers.js';
import { openFakeChat } from '../fakes/chat-completions';
import { openFakeDeepgram } from '../fakes/deepgram';
import { openLoopback, type Loopback } from '../fakes/loopback';
import { openFakeElevenLabs } from '../fakes/elevenlabs';

export type Env = Record<string, string>;
export type AnswerRequest = (request: IncomingMessage, response: ServerResponse) => void;

const UNCHECKED = 'setting could not be checked with its provider';

/** Opens fakes of providers, and closes them together. */
export function createFakeProviders() {
  let opened: { close(): Promise<void> }[] = [];

  function kept<T extends { close(): Promise<void> }>(fake: T): T {
    opened.push(fake);
    return fake;
  }

  /** Fakes of the pipeline's providers, and settings that all of them accept. */
  async function openPipelineProviders() {
    const stt = kept(await openFakeDeepgram());
    const chat = kept(await openFakeChat());
    const tts = kept(await openFakeElevenLabs());
    const env: Env = {
      DEEPGRAM_API_KEY: stt.lists.key,
      STT_BASE_URL: `ws://127.0.0.1:${stt.port}`,
      LLM_API_KEY: chat.lists.key,
      LLM_BASE_URL: `http://127.0.0.1:${chat.port}/v1`,
      LLM_MODEL: 'test-model',
      ELEVENLABS_API_KEY: tts.lists.key,
      TTS_BASE_URL: `ws://127.0.0.1:${tts.port}`,
      TTS_MODEL: 'test-voice-v2_5',
      TTS_VOICES: 'amber=voice-amber',
    };
    return { stt, chat, tts, env };
  }

  async function close(): Promise<void> {
    await Promise.all(opened.map((fake) => fake.close()));
    opened = [];
  }

  return {
    kept,
    openPipelineProviders,
    /** A server that answers every request in the same way. */
    openServer: async (answer: AnswerRequest): Promise<Loopback> => kept(await openLoopback({ onRequest: answer })),
    close,
  };
}

/** Runs the checks of a media process. `message` is the reason why it does not start. */
export async function checkAtStart(env: Env, withinMs?: { check: number; findVoices: number }) {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  const logger = createLogger({ role: 'media', level: 'info', destination });
  const config = parseConfig(env);
  const outcome = await withCheckedProviders(config, { logger, ...(withinMs === undefined ? {} : { withinMs }) }).then(
    (checked) => ({ checked, message: undefined }),
    (error: Error) => ({ checked: undefined, message: error.message }),
  );
  const warnings = lines.flatMap(({ msg, setting, reason }) =>
    msg === UNCHECKED ? [`${String(setting)}: ${String(reason)}`] : [],
  );
  return { ...outcome, config, lines, warnings };
}
