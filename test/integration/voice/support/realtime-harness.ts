import { createSynthesizer } from '../../../../src/voice/audio/flite.js';
import { parseConfig } from '../../../../src/platform/config/config.js';
import { createOpenAiRealtimeEngine } from '../../../../src/voice/engines/realtime/index.js';
import type { RealtimeTimings } from '../../../../src/voice/engines/realtime/session-setup.js';
import { createLogger } from '../../../../src/platform/telemetry/logger.js';
import type { EngineHarness, HarnessOptions } from '../engine-contract';
import { startFakeRealtime } from '../fakes/openai-realtime';
import type { FakeRealtime } from '../fakes/openai-realtime';
import type { Nastiness } from '../fakes/openai-realtime-events';

export type RealtimeHarness = EngineHarness & { fake: FakeRealtime };

/** Creates the real engine with the configuration that an operator would use, and the fake provider on loopback. */
export async function makeRealtimeHarness(
  options: HarnessOptions & {
    nasty?: Partial<Nastiness>;
    timings?: Partial<RealtimeTimings>;
    env?: Record<string, string>;
    recordsEvents?: boolean;
  } = {},
): Promise<RealtimeHarness> {
  const fake = await startFakeRealtime(options.nasty);
  const synthesizer = createSynthesizer();
  const { openaiRealtime, prices } = parseConfig({
    NODE_ENV: 'test',
    ENGINE: 'openai-realtime',
    OPENAI_API_KEY: 'test-key',
    OPENAI_BASE_URL: fake.baseUrl,
    ...options.env,
  }).engines;
  if (openaiRealtime === undefined) throw new Error('the engine is not configured');
  const { silence, timings, recordsEvents } = options;
  return {
    fake,
    factory: createOpenAiRealtimeEngine({
      settings: openaiRealtime,
      prices,
      logger: createLogger({ role: 'media', level: process.env['TEST_LOG_LEVEL'] ?? 'silent' }),
      ...(silence === undefined ? {} : { silence }),
      ...(timings === undefined ? {} : { timings }),
      ...(recordsEvents === undefined ? {} : { recordsEvents }),
    }),
    greeting: /I am an AI assistant/,
    speak: (text) => synthesizer.speak(text, 'rms'),
    linesToGoodbye: [
      { hears: 'Yes, the appointment is fine.', says: 'Thank you, is there anything else?' },
      { hears: 'No, that is all.', says: 'Thank you, goodbye.', calls: { name: 'end_call', arguments: {} } },
    ],
    keys: '415#',
    script: (turns) => fake.script(turns),
    hang: () => void (fake.nasty.hangs = true),
    kill: () => fake.kill(),
    async close() {
      await synthesizer.close();
      await fake.close();
    },
  };
}
