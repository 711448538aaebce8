import { openChains, type ChainHarness } from './support/chain-harness';
import type { EngineLine } from './support/engine-line';
import { eventually } from './support/media-fixture';

const ANSWER_MS = 15_000;
/** How long a provider may send nothing if another one can take over. */
const DEADLINE_MS = 3_000;
/** How soon the next provider must have answered. */
const NEXT_WITHIN_MS = 1_500;
/** The silence that ends a turn. */
const END_OF_TURN_MS = 600;
const SWITCHED = 'provider failed; the next one takes over';

describe('a chain that begins with servers of OpenAI’s protocols', () => {
  let chains: ChainHarness;
  let line: EngineLine;
  beforeEach(async () => {
    chains = await openChains({ isReversed: true });
  });
  afterEach(async () => {
    await line.hangUp();
    await chains.close();
  });

  const switches = () =>
    chains.lines.filter(({ msg }) => msg === SWITCHED).map(({ stage, from, to }) => ({ stage, from, to }));

  it.each([
    ['answers with an error', { kind: 'status', status: 500 }, 0],
    ['breaks off', { kind: 'cut' }, 0],
    ['sends nothing', { kind: 'stall' }, DEADLINE_MS],
  ] as const)(
    'lets Deepgram hear the turn again if the transcription %s',
    async (_how, fault, deadlineMs) => {
      chains.first.stt.script(['When is it?']);
      chains.second.stt.script(['When is it?']);
      chains.second.chat.answers.set('When is it?', { says: 'At ten o clock.' });
      line = chains.dial();
      await eventually(() => line.agentTurns().length === 1 && !line.isPlaying(), ANSWER_MS);
      chains.second.stt.faults.push(...Array(9).fill(fault));
      line.say(await chains.speak('Tell me, when is it?'));
      await eventually(() => !line.callerSpeaks(), ANSWER_MS);
      const endMs = line.now();
      await eventually(() => line.callerTurns().length > 0, ANSWER_MS);
      expect(line.now() - endMs).toBeLessThan(deadlineMs + NEXT_WITHIN_MS + END_OF_TURN_MS);
      await eventually(() => line.agentTurns().at(-1) === 'At ten o clock.', ANSWER_MS);
      expect(line.callerTurns()).toEqual(['When is it?']);
      expect(switches()).toEqual([{ stage: 'stt', from: 1, to: 2 }]);
    },
    40_000,
  );

  it.each([
    ['answers with an error', { kind: 'status', status: 503 }, 0],
    ['sends nothing', { kind: 'stall' }, DEADLINE_MS],
    ['sends text', { kind: 'garbage', text: '<html>' }, 0],
    ['breaks off', { kind: 'cut', afterMs: 0 }, 0],
  ] as const)(
    'lets ElevenLabs speak if /audio/speech %s',
    async (_how, fault, deadlineMs) => {
      chains.second.tts.faultOf = () => fault;
      line = chains.dial();
      await eventually(() => line.firstHeardMs !== undefined, ANSWER_MS);
      expect(line.firstHeardMs).toBeLessThan(deadlineMs + NEXT_WITHIN_MS);
      expect(switches()).toEqual([{ stage: 'tts', from: 1, to: 2 }]);
    },
    40_000,
  );

  it('speaks on with ElevenLabs where /audio/speech hung at a later sentence', async () => {
    chains.second.chat.answers.set('[The line is open. Begin to speak.]', {
      says: 'Good morning to you. How are you?',
    });
    chains.second.tts.faultOf = (text) => (text.startsWith('How') ? { kind: 'stall' } : undefined);
    line = chains.dial();
    await eventually(() => line.agentTurns().length === 1 && !line.isPlaying(), ANSWER_MS);
    expect(line.agentTurns()).toEqual(['Good morning to you. How are you?']);
    expect(chains.first.tts.texts.join(' ')).toBe('How are you?');
  }, 40_000);

  it.each(['stt', 'tts'] as const)(
    'apologises if both providers of %s are dead in mid-call',
    async (stage) => {
      chains.first.stt.script(['When is it?']);
      chains.second.stt.script(['When is it?']);
      line = chains.dial();
      await eventually(() => line.agentTurns().length === 1 && !line.isPlaying(), ANSWER_MS);
      chains.first[stage].kill();
      chains.second[stage].kill();
      line.say(await chains.speak('Tell me, when is it?'));
      await eventually(() => line.failed !== undefined, 60_000);
      expect(line.agentTurns().at(-1)).toMatch(/^I am sorry/);
    },
    90_000,
  );
});
