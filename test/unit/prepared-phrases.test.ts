import { createUsageMeter } from '../../src/voice/engines/engine-usage.js';
import { settingsFor } from '../../src/voice/engines/chain/pipeline-chains.js';
import {
  ProviderError,
  type CallTts,
  type TtsEvents,
  type TtsOptions,
} from '../../src/voice/engines/pipeline/ports.js';
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

describe('phrases that a provider does not speak', () => {
  const GERMAN: TtsOptions = { voice: 'amber', language: 'de-DE', settings: {} };
  let nowMs: number;
  let connections: { open: boolean; texts: string[] }[];
  let answer: (events: TtsEvents) => void;
  let prepared: ReturnType<typeof createPreparedPhrases>;

  beforeEach(() => {
    nowMs = 0;
    connections = [];
    answer = (events) => events.onLost(new ProviderError('voice', 'closed the connection'));
    const forCall = (): CallTts => {
      const connection = { open: true, texts: [] as string[] };
      connections.push(connection);
      return {
        open: (_, events) => ({
          say: (text) => void connection.texts.push(text),
          finish: () => answer(events),
          cancel: () => undefined,
        }),
        close: () => void (connection.open = false),
      };
    };
    const open: CallTts['open'] = (options, events) => forCall().open(options, events);
    prepared = createPreparedPhrases({ number: () => 1, open, forCall }, () => nowMs);
  });
  afterEach(() => prepared.close());

  const spoken = () => connections.reduce((sum, { texts }) => sum + texts.length, 0);

  it('cost the call nothing, and are tried again after a minute only', () => {
    const usage = createUsageMeter({});
    for (let reply = 0; reply < 5; reply += 1) prepared.prepare(GERMAN, usage);
    expect({ spoken: spoken(), units: usage.total().units }).toEqual({ spoken: 3, units: {} });
    nowMs = 60_000;
    answer = (events) => {
      events.onAudio(Uint8Array.of(1));
      events.onDone();
    };
    prepared.prepare(GERMAN, usage);
    const characters = connections.at(-1)?.texts.join('').length;
    expect(usage.total().units).toEqual({ voice_characters: characters });
    nowMs = 600_000;
    prepared.prepare(GERMAN, usage);
    expect(spoken()).toBe(6);
  });

  it('share one connection, which is closed when all have ended', () => {
    const ends: (() => void)[] = [];
    answer = (events) => void ends.push(() => events.onDone());
    prepared.prepare(GERMAN);
    expect(connections.map(({ texts }) => texts.length)).toEqual([3]);
    for (const end of ends) {
      expect(connections[0]?.open).toBe(true);
      end();
    }
    expect(connections[0]?.open).toBe(false);
  });
});
