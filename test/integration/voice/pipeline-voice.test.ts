import { MS_PER_CHARACTER } from './fakes/voices';
import { eventually } from './support/media-fixture';
import { GREETING, openPipeline } from './support/pipeline-harness';
import type { PipelineHarness } from './support/pipeline-harness';

const ANSWER_MS = 30_000;
const STORY = 'The first part is here. The second part is longer than that. The third part ends it.';

describe.each(['elevenlabs', 'openai'] as const)(
  'the pipeline engine with TTS by the protocol of %s',
  (voiceProvider) => {
    let pipeline: PipelineHarness;
    let line: ReturnType<PipelineHarness['dial']>;
    beforeAll(async () => {
      pipeline = await openPipeline({ voiceProvider, timeouts: { ttsMs: 2_000 } });
      await pipeline.factory.warm();
      pipeline.chat.answers.set('Tell me a story.', { says: STORY });
    });
    afterEach(async () => {
      await line.hangUp();
      pipeline.tts.faultOf = () => undefined;
      pipeline.tts.alignment = true;
    });
    afterAll(() => pipeline.close());

    async function startGreetedCall(): Promise<void> {
      pipeline.stt.script(['Tell me a story.', 'Thank you.']);
      line = pipeline.dial();
      await eventually(() => line.agentTurns().length === 1 && !line.isPlaying(), ANSWER_MS);
    }

    async function ask(): Promise<void> {
      line.say(await pipeline.speak('Please tell me a story.'));
    }

    /** Makes the fault occur once, for a text that contains `part`. */
    function failOnce(part: string, fault: ReturnType<PipelineHarness['tts']['faultOf']>): void {
      let hasFailed = false;
      pipeline.tts.faultOf = (text) => {
        if (hasFailed || !text.includes(part)) return undefined;
        hasFailed = true;
        return fault;
      };
    }

    it('speaks with the voice of the agent, for the duration of the text', async () => {
      await startGreetedCall();
      const url = pipeline.tts.urls[0];
      if (voiceProvider === 'elevenlabs') {
        expect(url?.pathname).toBe('/v1/text-to-speech/voice-amber/multi-stream-input');
        expect(url?.searchParams.get('output_format')).toBe('ulaw_8000');
      } else expect(url?.pathname).toBe('/v1/audio/speech');
      const loud = line.heard.filter((frame) => frame.some((byte) => (byte & 0x7f) < 0x60)).length;
      expect(Math.abs(loud * 20 - GREETING.length * MS_PER_CHARACTER)).toBeLessThan(400);
    });

    it.each([true, false])(
      'transcribes only the played words if all audio was sent before the barge-in (words from the provider: %s)',
      async (alignment) => {
        pipeline.tts.alignment = alignment;
        await startGreetedCall();
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
        // Without alignment, the service assumes an average pace, which differs from the fake's.
        const perCharacter = alignment || voiceProvider === 'openai' ? MS_PER_CHARACTER : 1_000 / 15;
        expect(Math.abs(heard.length * perCharacter - playedMs)).toBeLessThan(alignment ? 800 : 1_500);
        expect(heard.length).toBeLessThan(STORY.length);
      },
    );

    it('speaks the rest in a second attempt after a close in mid-sentence', async () => {
      await startGreetedCall();
      failOnce('second part', { kind: 'cut', afterMs: 700 });
      await ask();
      await eventually(() => line.agentTurns().length === 2, ANSWER_MS);
      expect(line.agentTurns()[1]?.replace(/\s+/g, ' ')).toBe(STORY);
      const again = pipeline.tts.texts.filter((text) => text.includes('third part'));
      expect(again.at(-1)).not.toContain('first part');
      expect(line.failed).toBeUndefined();
    });

    it('speaks the text in a second attempt after a stall', async () => {
      await startGreetedCall();
      failOnce('first part', { kind: 'stall' });
      await ask();
      await eventually(() => line.agentTurns().at(-1) === STORY, ANSWER_MS);
      expect(line.failed).toBeUndefined();
    });

    it('speaks the text in a second attempt after a 429', async () => {
      await startGreetedCall();
      if (voiceProvider === 'elevenlabs') pipeline.tts.refusals.push(429);
      else failOnce('first part', { kind: 'status', status: 429, headers: { 'retry-after': '1' } });
      await ask();
      await eventually(() => line.agentTurns().at(-1) === STORY, ANSWER_MS);
      expect(line.failed).toBeUndefined();
    });

    it('apologises with offline speech after garbage twice, and fails the call when the apology was played', async () => {
      await startGreetedCall();
      pipeline.tts.faultOf = (text) => (/part/.test(text) ? { kind: 'garbage', text: '<html>bad gateway' } : undefined);
      await ask();
      await eventually(() => line.failed !== undefined, ANSWER_MS);
      expect(line.failed?.message).toMatch(
        /^the text-to-speech provider (sent a message that is not a JSON object|returned text instead of audio)/,
      );
      expect(line.agentTurns()[1]).toMatch(/^I am sorry/);
      const spoken = line.agentTurns().length;
      expect(spoken).toBe(2);
    });
  },
);
