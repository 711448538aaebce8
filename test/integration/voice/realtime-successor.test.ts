import type { EngineLine } from './support/engine-line';
import { eventually } from './support/media-fixture';
import { openBothEngines, type SuccessorHarness } from './support/successor-harness';

const ANSWER_MS = 15_000;
/** How long the provider may send nothing if `pipeline` can take over. */
const DEADLINE_MS = 3_000;
/** How soon `pipeline` must have answered. */
const NEXT_WITHIN_MS = 1_500;
const FILLER = /^One moment/;
const GREETING = 'Hello, this is the clinic.';

describe('pipeline as the successor of openai-realtime', () => {
  let both: SuccessorHarness;
  let line: EngineLine;
  beforeEach(async () => {
    both = await openBothEngines({ AGENT_MODELS: 'gpt-realtime-2' });
    both.chat.answers.set('[The line is open. Begin to speak.]', { says: GREETING });
    both.chat.answers.set('[Continue where you stopped.]', { says: 'So, is ten o clock fine?' });
    both.chat.answers.set('[Answer what the other person said last.]', { says: 'At ten o clock.' });
    both.chat.answers.set('When is it?', { says: 'At ten o clock.' });
  });
  afterEach(async () => {
    await line.hangUp();
    expect(line.afterStop).toEqual([]);
    await both.close();
  });

  const stages = (served: readonly { stage: string }[] | undefined) => served?.map(({ stage }) => stage);

  async function greet(): Promise<void> {
    line = both.dial();
    await eventually(() => line.agentTurns().length === 1 && !line.isPlaying(), ANSWER_MS);
  }

  /** The time from a moment on the line's clock to the next audio of the agent that is not a filler. */
  function audioAfter(atMs: number): number {
    const audio = line.events.find(
      (event) => event.kind === 'audio' && event.atMs > atMs && event.itemId.startsWith('successor-reply-'),
    );
    if (audio === undefined) throw new Error('the agent said nothing');
    return audio.atMs - atMs;
  }

  it('begins the call if the session is rejected, and is asked at once after two rejected calls', async () => {
    both.realtime.nasty.refuseUpgrades = { status: 503, times: 100 };
    for (let call = 1; call <= 3; call += 1) {
      await greet();
      expect(line.firstHeardMs).toBeLessThan(NEXT_WITHIN_MS);
      expect(line.agentTurns()).toEqual([GREETING]);
      expect(stages((await line.hangUp()).served)).toEqual(['llm', 'tts']);
    }
    expect(both.realtime.upgrades()).toBe(2);
    expect(both.lines.map(({ msg, stage, to }) => ({ msg, stage, to }))).toEqual([
      { msg: 'provider failed; the next one takes over', stage: 'realtime', to: 'pipeline' },
      { msg: 'provider failed; the next one takes over', stage: 'realtime', to: 'pipeline' },
      { msg: 'provider skipped, because it failed in earlier calls', stage: 'realtime', to: 'pipeline' },
    ]);
  }, 60_000);

  it('begins the calls whose tools the model rejects, without other calls being affected', async () => {
    const broken = { name: 'broken', description: 'Broken.', parameters: { type: 'object' } };
    for (let call = 1; call <= 2; call += 1) {
      line = both.dial({ tools: [broken] });
      await eventually(() => both.lines.filter(({ stage }) => stage === 'realtime').length === call, ANSWER_MS);
      await line.hangUp();
    }
    expect(both.lines.find(({ promptTokens }) => Number(promptTokens) > 100)).toMatchObject({
      msg: 'realtime provider rejected the instruction, tools or settings of a call',
      why: 'the provider rejected the session settings: invalid_function_parameters',
    });
    await greet();
    expect(stages((await line.hangUp()).served)).toEqual(['realtime']);
  }, 60_000);

  it('begins the call if the session is not confirmed in time', async () => {
    both.realtime.nasty.hangs = true;
    await greet();
    expect(line.firstHeardMs).toBeLessThan(DEADLINE_MS + NEXT_WITHIN_MS);
    expect(line.agentTurns()).toEqual([GREETING]);
  }, 60_000);

  it.each(['a session', 'a turn'])(
    'moves no call of another account, though the provider does not answer %s of calls of one account',
    async (what) => {
      const { nasty } = both.realtime;
      const dial = (accountId: string, callId: string) =>
        both.dial({ callId, requestOwner: { accountId, callId, mode: 'live' } });
      nasty.hangs = what === 'a session';
      const lines = [dial('a', 'a1'), dial('a', 'a2')];
      if (what === 'a turn') {
        await eventually(() => lines.every((each) => each.agentTurns().length === 1 && !each.isPlaying()), ANSWER_MS);
        for (const each of lines) {
          nasty.stallMs = 60_000;
          each.say(await both.speak('Tell me, when is it?'));
          await eventually(() => nasty.stallMs === 0, ANSWER_MS);
        }
      }
      await eventually(() => both.lines.filter(({ stage }) => stage === 'realtime').length === 2, ANSWER_MS);
      await Promise.all(lines.map((each) => each.hangUp()));
      nasty.hangs = false;
      for (const [accountId, served] of [
        ['b', ['realtime']],
        ['a', ['llm', 'tts']],
      ] as const) {
        line = dial(accountId, `${accountId}3`);
        await eventually(() => line.agentTurns().length === 1, ANSWER_MS);
        expect([accountId, stages((await line.hangUp()).served)]).toEqual([accountId, served]);
      }
    },
    90_000,
  );

  it.each([
    ['whose words are known', 'When is it?'],
    ['without a transcript', ''],
  ])(
    'answers a turn %s, which the provider left unanswered, without another greeting',
    async (_which, words) => {
      both.realtime.script([{ hears: words }]);
      both.stt.script(['When is it?']);
      await greet();
      const [greeting] = line.agentTurns();
      both.realtime.nasty.stallMs = 60_000;
      line.say(await both.speak('Tell me, when is it?'));
      await eventually(() => !line.callerSpeaks(), ANSWER_MS);
      const spokenMs = line.now();
      await eventually(() => line.agentTurns().includes('At ten o clock.'), ANSWER_MS);
      expect(line.agentTurns().filter((text) => !FILLER.test(text))).toEqual([greeting, 'At ten o clock.']);
      expect(line.callerTurns()).toEqual(['When is it?']);
      // The provider is asked for its reply when the turn has ended, up to 1 s after the last word.
      expect(audioAfter(spokenMs)).toBeLessThan(1_000 + DEADLINE_MS + NEXT_WITHIN_MS);
      const [system] = both.chat.requests[0]?.messages ?? [];
      expect(system?.content).toContain('Do not greet or introduce yourself again');
      expect(line.failures).toEqual([{ part: 'realtime', what: 'the provider timed out', provider: 'openai' }]);
      const { served, usage } = await line.hangUp();
      expect(stages(served)?.toSorted()).toEqual(['llm', 'realtime', ...(words === '' ? ['stt'] : []), 'tts']);
      expect(served?.[0]?.stage).toBe('realtime');
      expect(served?.[1]?.fromMs).toBeGreaterThan(served?.[0]?.fromMs ?? Infinity);
      expect(usage?.units['realtime_output_audio_tokens']).toBeGreaterThan(0);
      expect(usage?.units['voice_characters']).toBeGreaterThan(0);
      const caller = line.turns.find(({ speaker }) => speaker === 'caller');
      expect(Math.abs((caller?.endMs ?? 0) - spokenMs)).toBeLessThan(1_500);
    },
    60_000,
  );

  it('continues a call whose connection breaks for good, and lets itself be interrupted', async () => {
    both.stt.script(['When is it?']);
    // Long enough for a busy machine to interrupt it.
    const long = 'So, is ten o clock fine, or is another time better, such as eleven or twelve? '.repeat(4);
    both.chat.answers.set('[Continue where you stopped.]', { says: long });
    const question = await both.speak('Tell me, when is it?');
    await greet();
    const lostMs = line.now();
    both.realtime.kill();
    await eventually(() => line.events.some(({ kind, atMs }) => kind === 'audio' && atMs > lostMs), ANSWER_MS);
    expect(audioAfter(lostMs)).toBeLessThan(NEXT_WITHIN_MS);
    line.say(question);
    await eventually(() => line.agentTurns().at(-1) === 'At ten o clock.', ANSWER_MS);
    expect(line.clears()).toBeGreaterThan(0);
    expect(line.agentTurns().join(' ')).not.toContain('sorry');
  }, 60_000);

  it('apologises if it fails as well', async () => {
    await greet();
    both.chat.kill();
    both.realtime.kill();
    await eventually(() => line.failed !== undefined, 60_000);
    expect(line.agentTurns().at(-1)).toMatch(/^I am sorry/);
  }, 90_000);

  it('does not use a stored model that the operator has forbidden since', async () => {
    line = both.dial({ settings: { model: 'gpt-realtime-1.5' } });
    await eventually(() => line.agentTurns().length === 1, ANSWER_MS);
    expect(both.realtime.sessions.map((session) => session.model)).toEqual(['gpt-realtime-2.1']);
    expect((await line.hangUp()).ignoredSettings).toEqual(['model']);
  });

  it('does not take over a call that it cannot conduct', async () => {
    await greet();
    await line.hangUp();
    line = both.dial({ voice: 'unknown' });
    await eventually(() => line.agentTurns().length === 1 && !line.isPlaying(), ANSWER_MS);
    both.realtime.kill();
    await eventually(() => line.failed !== undefined, 60_000);
    expect(line.agentTurns().at(-1)).toMatch(/sorry/);
    expect(both.chat.requests).toEqual([]);
  }, 90_000);
});
