import { createSynthesizer } from '../../../src/voice/audio/flite.js';
import { createOfflineEngine } from '../../../src/voice/engines/offline/index.js';
import { describeEngineContract, type EngineHarness, type HarnessOptions } from './engine-contract';

/** Used by tests that are not about silence. With these timeouts, a busy machine does not look like a silent caller. */
const LONG_SILENCE_TIMEOUTS = { promptAfterMs: 40_000, endAfterMs: 80_000 };

async function offlineHarness({ silence }: HarnessOptions): Promise<EngineHarness> {
  const callers = createSynthesizer();
  return {
    factory: createOfflineEngine({ timing: silence ?? LONG_SILENCE_TIMEOUTS }),
    introduction: 'Hello. This is an automated assistant. Confirm the appointment.',
    greeting: /This is an automated assistant/,
    call: { outputTemplate: { confirmed: false, note: null } },
    speak: (text) => callers.speak(text, 'rms'),
    // The engine understands answers to its questions, and a goodbye.
    linesToGoodbye: [{ hears: 'Yes.' }, { hears: 'Goodbye.' }],
    keys: '1#',
    close: () => callers.close(),
  };
}

describeEngineContract('the offline engine', offlineHarness);
