import { SKIPPED_FOR_MS } from '../../src/voice/engines/chain/circuit-breaker.js';
import { createProviderHealth } from '../../src/voice/engines/chain/provider-health.js';
import { healthyVoice } from '../../src/voice/engines/chain/healthy-voice.js';
import { ProviderError, type TextToSpeech, type TtsOptions } from '../../src/voice/engines/pipeline/ports.js';

const OPTIONS: TtsOptions = { voice: 'amber', language: 'de-DE', settings: {} };

describe('the voice of phrases for later calls', () => {
  let nowMs: number;
  let isFirstDown: boolean;
  beforeEach(() => {
    nowMs = 0;
    isFirstDown = true;
  });

  function openVoice() {
    const health = createProviderHealth(() => nowMs);
    const speaking = (fails: () => boolean): TextToSpeech => ({
      open: (_, events) => ({
        say: () => undefined,
        finish: () => (fails() ? events.onLost(new ProviderError('voice', 'broke off')) : events.onDone()),
        cancel: () => undefined,
      }),
    });
    const provider = (number: number, port: TextToSpeech) =>
      ({ stage: 'tts', number, name: `tts ${number}`, model: 'm', port }) as const;
    const tts = [
      provider(
        1,
        speaking(() => isFirstDown),
      ),
      provider(
        2,
        speaking(() => false),
      ),
    ] as const;
    const voice = healthyVoice({ tts: [...tts], health });
    const speak = (options = OPTIONS) => {
      const handlers = { onAudio: () => undefined, onSpoken: () => undefined };
      voice.open(options, { ...handlers, onDone: () => undefined, onLost: () => undefined }).finish();
      return voice.number();
    };
    return { health, speak };
  }

  it('leaves a provider that fails for phrases, and returns to it', () => {
    const { speak } = openVoice();
    expect([speak(), speak()]).toEqual([1, 2]);
    expect(speak()).toBe(2);
    nowMs += SKIPPED_FOR_MS;
    isFirstDown = false;
    expect(speak()).toBe(1);
  });

  it('moves no calls of an account', () => {
    const { health, speak } = openVoice();
    for (let n = 0; n < 5; n++) speak();
    const call = { callId: 'call_1', accountId: 'acct_1' };
    expect(health.isOpen({ stage: 'tts', number: 1 }, call)).toBe(false);
  });

  it('stays when the voice that an agent has chosen fails', () => {
    const { speak } = openVoice();
    for (let n = 0; n < 5; n++) expect(speak({ ...OPTIONS, settings: { voiceId: 'gone' } })).toBe(1);
  });
});
