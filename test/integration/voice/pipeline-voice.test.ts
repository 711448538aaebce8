import { MS_PER_CHARACTER } from './fakes/voices';
import { eventually } from './support/media-fixture';
import { GREETING, openPipeline } from './support/pipeline-harness';
import type { PipelineHarness } from './support/pipeline-harness';

const ANSWER_MS = 30_000;
const STORY = 'The first part is here. The second part is longer than that. The third part ends it.';

describe.each(['elevenlabs', 'openai'] as const)(
  'the pipeline engine and a voice by the protocol of %s',
  (voiceProvider) => {
    let pipeline: PipelineHarness;
    let line: ReturnType<PipelineHarness['dial']>;
    beforeAll(async () => {
      pipeline = await openPipeline({ voiceProvider, patience: { voiceMs: 2_000 } });
      await pipeline.factory.warm();
      pipeline.chat.answers.set('Tell me a story.', { says: STORY });
    });
    afterEach(async () => {
      await line.hangUp();
      pipeline.tts.faultOf = () => undefined;
      pipeline.tts.alignment = true;
    });
    afterAll(() => pipeline.close());

    async function greeted(): Promise<void> {
      pipeline.stt.script(['Tell me a story.', 'Thank you.']);
      line = pipeline.dial();
      await eventually(() => line.agentTurns().length === 1 && !line.isPlaying(), ANSWER_MS);
    }

    async function ask(): Promise<void> {
      line.say(await pipeline.speak('Please tell me a story.'));
    }

    /** The fault befalls the text once. */
    function befalls(part: string, fault: ReturnType<PipelineHarness['tts']['faultOf']>): void {
      let befell = false;
      pipeline.tts.faultOf = (text) => {
        if (befell || !text.includes(part)) return undefined;
        befell = true;
        return fault;
      };
    }

    it('speaks with the voice that the agent names, as long as the text is', async () => {
      await greeted();
      const url = pipeline.tts.urls[0];
      if (voiceProvider === 'elevenlabs') {
        expect(url?.pathname).toBe('/v1/text-to-speech/voice-amber/stream-input');
        expect(url?.searchParams.get('output_format')).toBe('ulaw_8000');
      } else expect(url?.pathname).toBe('/v1/audio/speech');
      const loud = line.heard.filter((frame) => frame.some((byte) => (byte & 0x7f) < 0x60)).length;
      expect(Math.abs(loud * 20 - GREETING.length * MS_PER_CHARACTER)).toBeLessThan(400);
    });

    it.each([true, false])(
      'all audio is there before the barge-in: the transcript holds only the words heard (words told by the voice: %s)',
      async (alignment) => {
        pipeline.tts.alignment = alignment;
        await greeted();
        await ask();
        await eventually(() => line.callerTurns().length === 1 && line.isPlaying(), ANSWER_MS);
        await eventually(() => line.events.filter(({ kind }) => kind === 'endOfItem').length === 2, ANSWER_MS);
        line.say(await pipeline.speak('Thank you very much, that will do for me.'));
        await eventually(() => line.agentTurns().length === 3, ANSWER_MS);
        const [, story = ''] = line.agentTurns();
        expect(story).toMatch(/ \(interrupted\)$/);
        const heard = story.replace(' (interrupted)', '');
        expect(STORY.startsWith(heard)).toBe(true);
        const turn = line.turns.find(({ text }) => text === story);
        const playedMs = (turn?.endMs ?? 0) - (turn?.startMs ?? 0);
        // Without the voice's word an average pace is taken, which is not the fake's.
        const perCharacter = alignment || voiceProvider === 'openai' ? MS_PER_CHARACTER : 1_000 / 15;
        expect(Math.abs(heard.length * perCharacter - playedMs)).toBeLessThan(alignment ? 800 : 1_500);
        expect(heard.length).toBeLessThan(STORY.length);
      },
    );

    it('a close in the middle of a sentence: the rest is said by a second attempt', async () => {
      await greeted();
      befalls('second part', { kind: 'cut', afterMs: 700 });
      await ask();
      await eventually(() => line.agentTurns().length === 2, ANSWER_MS);
      expect(line.agentTurns()[1]?.replace(/\s+/g, ' ')).toBe(STORY);
      const again = pipeline.tts.texts.filter((text) => text.includes('third part'));
      expect(again.at(-1)).not.toContain('first part');
      expect(line.failed).toBeUndefined();
    });

    it('a stall: the text is said by a second attempt', async () => {
      await greeted();
      befalls('first part', { kind: 'stall' });
      await ask();
      await eventually(() => line.agentTurns().at(-1) === STORY, ANSWER_MS);
      expect(line.failed).toBeUndefined();
    });

    it('429: the text is said by a second attempt', async () => {
      await greeted();
      if (voiceProvider === 'elevenlabs') pipeline.tts.refusals.push(429);
      else befalls('first part', { kind: 'status', status: 429, headers: { 'retry-after': '1' } });
      await ask();
      await eventually(() => line.agentTurns().at(-1) === STORY, ANSWER_MS);
      expect(line.failed).toBeUndefined();
    });

    it('garbage, and garbage again: the agent says sorry by offline speech, and the call fails when that was heard', async () => {
      await greeted();
      pipeline.tts.faultOf = (text) => (/part/.test(text) ? { kind: 'garbage', text: '<html>bad gateway' } : undefined);
      await ask();
      await eventually(() => line.failed !== undefined, ANSWER_MS);
      expect(line.failed?.message).toMatch(/^voice: (sent a message that is no JSON|answered with text)/);
      expect(line.agentTurns()[1]).toMatch(/^I am sorry/);
      const spoken = line.agentTurns().length;
      expect(spoken).toBe(2);
    });
  },
);
