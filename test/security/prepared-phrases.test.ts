import type { ConversationSettings } from '../../src/kernel/conversation/conversation-settings.js';
import { createUsageMeter } from '../../src/voice/engines/engine-usage.js';
import type { TtsOptions } from '../../src/voice/engines/pipeline/ports.js';
import { createPreparedPhrases, type PreparedPhrases } from '../../src/voice/engines/pipeline/prepared-phrases.js';

const PHRASES_PER_VOICE = 3;
const optionsWith = (settings: ConversationSettings): TtsOptions => ({ voice: 'amber', language: 'fr-FR', settings });

describe('phrases prepared for agents that set a voice or speed', () => {
  let texts: string[];
  let prepared: PreparedPhrases;

  beforeEach(() => {
    texts = [];
    prepared = createPreparedPhrases({
      number: () => 1,
      open: (_options, events) => ({
        say(text) {
          texts.push(text);
          events.onAudio(Uint8Array.of(1));
        },
        finish: () => events.onDone(),
        cancel: () => undefined,
      }),
    });
  });

  afterEach(() => prepared.close());

  it('are usage of the call that needs them first', () => {
    const meters = [createUsageMeter({}), createUsageMeter({})];
    for (const usage of meters) prepared.prepare(optionsWith({ voiceId: 'mine' }), usage);
    const characters = texts.join('').length;
    expect(characters).toBeGreaterThan(0);
    expect(meters.map((usage) => usage.total().units['voice_characters'])).toEqual([characters, undefined]);
  });

  it('are the same for speeds that sound alike', async () => {
    for (let count = 0; count < 1_000; count += 1)
      prepared.prepare(optionsWith({ speechSpeed: 1 + count / 1_000_000 }));
    expect(texts).toHaveLength(PHRASES_PER_VOICE);
    expect(await prepared.getAudio('filler', optionsWith({ speechSpeed: 1.000_5 }))).toHaveLength(1);
    prepared.prepare(optionsWith({ speechSpeed: 1.1 }));
    expect(texts).toHaveLength(2 * PHRASES_PER_VOICE);
  });

  it('do not replace those in the voices of the service, however many there are', async () => {
    prepared.prepare(optionsWith({}));
    for (let count = 0; count < 200; count += 1) prepared.prepare(optionsWith({ voiceId: `voice-${count}` }));
    expect(await prepared.getAudio('filler', optionsWith({}))).toHaveLength(1);
    const before = texts.length;
    prepared.prepare(optionsWith({}));
    expect(texts).toHaveLength(before);
  });
});
