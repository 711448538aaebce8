import { settingsFor } from '../../src/voice/engines/chain/pipeline-chains.js';
import type { TtsOptions } from '../../src/voice/engines/pipeline/ports.js';
import { createPreparedPhrases, type VoiceOfPhrases } from '../../src/voice/engines/pipeline/prepared-phrases.js';

const OPTIONS: TtsOptions = { voice: 'amber', language: 'de-DE', settings: { voiceId: 'voice-of-the-first' } };

describe('phrases prepared in a voice that only the first provider has', () => {
  it('are spoken by each provider on its own', async () => {
    let number = 1;
    const voiceIds: (string | undefined)[] = [];
    const voice: VoiceOfPhrases = {
      number: () => number,
      open({ settings }, events) {
        voiceIds.push(settingsFor({ number }, settings).voiceId);
        const own = number;
        return {
          say: () => events.onAudio(Uint8Array.of(own)),
          finish: () => events.onDone(),
          cancel: () => undefined,
        };
      },
    };
    const prepared = createPreparedPhrases(voice);
    const audio = async () => Array.from((await prepared.getAudio('filler', OPTIONS)) ?? []);
    prepared.prepare(OPTIONS);
    expect(await audio()).toEqual([1]);
    number = 2;
    expect(await audio()).toEqual([]);
    prepared.prepare(OPTIONS);
    expect(await audio()).toEqual([2]);
    number = 1;
    prepared.prepare(OPTIONS);
    expect(await audio()).toEqual([1]);
    expect(voiceIds).toEqual([...Array(3).fill('voice-of-the-first'), ...Array(3).fill(undefined)]);
    await prepared.close();
  });
});
