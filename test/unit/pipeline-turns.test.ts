import { ProviderError } from '../../src/voice/engines/pipeline/ports.js';
import { GREETING, lookUp, openStage, type Stage } from '../support/pipeline-stage';

const OPENED = 'user: [The line is open. Begin to speak.]';
const GREETED = [OPENED, `assistant: ${GREETING}`];
const FOUND = { ok: true, result: { at: 'ten' } } as const;
const FILLER = 'agent: One moment, please.';

describe('turns in a call of the pipeline engine', () => {
  let stage: Stage;
  beforeEach(() => jest.useFakeTimers());
  afterEach(async () => {
    await stage.close();
    jest.useRealTimers();
  });

  /** Starts a call in which the caller has asked a question and the model has called a tool. */
  async function toolAtWork(): Promise<void> {
    stage = await openStage();
    await stage.says('When is it?');
    stage.lastRequest(2).respond('', lookUp('call_1'));
    await stage.pass(100);
    expect(stage.tools).toHaveLength(1);
  }

  const withTool = [...GREETED, 'user: When is it?', 'assistant: ', 'tool: {"at":"ten"}'];

  describe('when the caller speaks during a tool call', () => {
    it('the reply waits for a tool call that finishes after the turn', async () => {
      await toolAtWork();
      await stage.says('Hurry up.');
      await stage.pass(500);
      expect(stage.requests).toHaveLength(2);
      stage.tools[0]?.finish(FOUND);
      await stage.pass(100);
      expect(stage.lastRequest(3).messages).toEqual([...withTool, 'user: Hurry up.']);
      stage.lastRequest(3).respond('It is at ten.');
      await stage.pass(1_000);
      expect(stage.said().slice(1)).toEqual(['caller: When is it?', 'caller: Hurry up.', 'agent: It is at ten.']);
    });

    it('a tool result in mid-turn starts a reply that is replaced by the reply to the turn', async () => {
      await toolAtWork();
      await stage.speaks(400);
      stage.tools[0]?.finish(FOUND);
      await stage.pass(20);
      expect(stage.lastRequest(3).messages).toEqual(withTool);
      await stage.says('Hurry up.');
      expect(stage.lastRequest(4).messages).toEqual([...withTool, 'user: Hurry up.']);
      expect(stage.requests[2]?.abandoned).toBe(true);
      stage.lastRequest(4).respond('It is at ten.');
      await stage.pass(1_000);
      expect(stage.said().at(-1)).toBe('agent: It is at ten.');
    });

    it('a reply that starts in mid-turn stops, and the turn is answered', async () => {
      await toolAtWork();
      stage.tools[0]?.finish(FOUND);
      await stage.speaks(400);
      stage.lastRequest(3).respond('It is at ten in the morning.');
      await stage.says('Hurry up.');
      expect(stage.lastRequest(4).messages).toEqual([...withTool, 'user: Hurry up.']);
      stage.lastRequest(4).respond('At ten.');
      await stage.pass(1_000);
      expect(stage.said().at(-1)).toBe('agent: At ten.');
    });

    it('two halves of a split turn wait for one tool call', async () => {
      await toolAtWork();
      await stage.says('Please do');
      await stage.says('hurry up.');
      await stage.pass(300);
      expect(stage.requests).toHaveLength(2);
      stage.tools[0]?.finish(FOUND);
      await stage.pass(100);
      expect(stage.lastRequest(3).messages).toEqual([...withTool, 'user: Please do', 'user: hurry up.']);
      stage.lastRequest(3).respond('At ten.');
      await stage.pass(1_000);
      expect(stage.said().at(-1)).toBe('agent: At ten.');
    });

    it('a reply that starts between two halves of a turn is replaced by a reply to both', async () => {
      await toolAtWork();
      await stage.says('Please do');
      stage.tools[0]?.finish(FOUND);
      await stage.pass(40);
      await stage.says('hurry up.');
      expect(stage.lastRequest(4).messages).toEqual([...withTool, 'user: Please do', 'user: hurry up.']);
      stage.lastRequest(4).respond('At ten.');
      await stage.pass(1_000);
      expect(stage.said().at(-1)).toBe('agent: At ten.');
    });

    it('a transcript long after the speech is answered', async () => {
      await toolAtWork();
      await stage.speaks(800);
      await stage.pass(1_500);
      stage.tools[0]?.finish(FOUND);
      stage.hears().onInterim('Hurry up.');
      stage.hears().onProbableEnd('Hurry up.');
      await stage.pass(100);
      expect(stage.requests.at(-1)?.messages).toEqual([...withTool, 'user: Hurry up.']);
      stage.requests.at(-1)?.respond('At ten.');
      await stage.pass(2_500);
      expect(stage.said().at(-1)).toBe('agent: At ten.');
    });

    it('a transcript after the reply to the tool result is answered next', async () => {
      await toolAtWork();
      await stage.speaks(800);
      stage.tools[0]?.finish(FOUND);
      await stage.pass(100);
      stage.lastRequest(3).respond('At ten.');
      await stage.pass(1_500);
      stage.hears().onInterim('Hurry up.');
      stage.hears().onProbableEnd('Hurry up.');
      await stage.pass(100);
      expect(stage.lastRequest(4).messages.slice(-2)).toEqual(['assistant: At ten.', 'user: Hurry up.']);
    });

    it('noise stops the filler, but not the reply', async () => {
      await toolAtWork();
      await stage.pass(1_700);
      expect(stage.isPlaying()).toBe(true);
      await stage.speaks(400);
      expect(stage.isPlaying()).toBe(false);
      stage.hears().onActivity();
      stage.tools[0]?.finish(FOUND);
      await stage.pass(3_000);
      expect(stage.lastRequest(3).messages).toEqual(withTool);
      stage.lastRequest(3).respond('At ten.');
      await stage.pass(1_000);
      expect(stage.said().at(-1)).toBe('agent: At ten.');
    });

    it('words during the filler are answered after the tool call', async () => {
      await toolAtWork();
      await stage.pass(1_700);
      await stage.says('Hurry up.');
      stage.tools[0]?.finish(FOUND);
      await stage.pass(100);
      expect(stage.lastRequest(3).messages).toEqual([...withTool, 'user: Hurry up.']);
    });
  });

  describe('the filler', () => {
    it('waits until the caller stops speaking', async () => {
      await toolAtWork();
      await stage.pass(900);
      await stage.speaks(1_500);
      expect(stage.isPlaying()).toBe(false);
      expect(stage.clears).toBe(0);
      stage.hears().onActivity();
      await stage.pass(1_000);
      expect(stage.isPlaying()).toBe(true);
      await stage.pass(1_000);
      expect(stage.said().at(-1)).toBe(FILLER);
    });
  });

  describe('a reply prepared before the end of turn', () => {
    it('is spoken if the turn ends with the same words', async () => {
      stage = await openStage();
      await stage.speaks(800);
      stage.hears().onInterim('Tomorrow');
      stage.hears().onProbableEnd('Tomorrow');
      await stage.pass(40);
      stage.lastRequest(2).respond('At ten.');
      await stage.pass(200);
      expect(stage.isPlaying()).toBe(false);
      await stage.pass(1_000);
      expect(stage.lastRequest(2).messages).toEqual([...GREETED, 'user: Tomorrow']);
      expect(stage.said().slice(1)).toEqual(['caller: Tomorrow', 'agent: At ten.']);
    });

    it('is discarded if the caller continues, and made again for all words', async () => {
      stage = await openStage();
      await stage.speaks(800);
      stage.hears().onInterim('Tomorrow');
      stage.hears().onProbableEnd('Tomorrow');
      await stage.pass(300);
      stage.lastRequest(2).respond('This must never be heard.');
      await stage.speaks(300);
      stage.hears().onTurnContinued();
      await stage.says('Tomorrow or today.');
      expect(stage.lastRequest(3).messages).toEqual([...GREETED, 'user: Tomorrow or today.']);
      stage.lastRequest(3).respond('Which?');
      await stage.pass(1_000);
      expect(stage.said().slice(1)).toEqual(['caller: Tomorrow or today.', 'agent: Which?']);
    });

    it('is discarded and made again if the caller resumes but says no more', async () => {
      stage = await openStage();
      await stage.speaks(800);
      stage.hears().onInterim('Tomorrow');
      stage.hears().onProbableEnd('Tomorrow');
      await stage.pass(200);
      stage.hears().onTurnContinued();
      await stage.pass(3_000);
      expect(stage.lastRequest(3).messages).toEqual([...GREETED, 'user: Tomorrow']);
      expect(stage.requests[1]?.abandoned).toBe(true);
    });

    it('is discarded if it does not take an upcoming end of the call into account', async () => {
      stage = await openStage();
      await stage.speaks(800);
      stage.hears().onInterim('Tomorrow');
      stage.hears().onProbableEnd('Tomorrow');
      await stage.pass(100);
      stage.endingSoon(20);
      await stage.pass(700);
      const ending = 'user: [The call will be ended in about 20 seconds. Say so in a few words and come to an end.]';
      expect(stage.lastRequest(3).messages).toEqual([...GREETED, ending, 'user: Tomorrow']);
    });
  });

  describe('speech to text', () => {
    it('completes a turn after a timeout if the provider sends no end of turn', async () => {
      stage = await openStage();
      await stage.speaks(800);
      stage.hears().onInterim('Tomorrow');
      await stage.pass(2_500);
      expect(stage.hurries).toBe(1);
      expect(stage.said().at(-1)).toBe('caller: Tomorrow');
    });

    it.each([false, true])(
      'completes a turn that voice activity detection has missed (provider decides turns: %s)',
      async (detectsEndOfTurn) => {
        stage = await openStage({ detectsEndOfTurn });
        stage.hears().onInterim('Tomorrow');
        await stage.pass(detectsEndOfTurn ? 7_500 : 2_500);
        expect(stage.said().at(-1)).toBe('caller: Tomorrow');
        expect(stage.lastRequest(2).messages.at(-1)).toBe('user: Tomorrow');
      },
    );

    it('starts a new turn for words right after an early end of turn', async () => {
      stage = await openStage();
      await stage.speaks(800);
      await stage.pass(300);
      stage.hears().onEnd('Tomorrow');
      await stage.pass(100);
      stage.hears().onInterim('Please');
      stage.hears().onProbableEnd('Please');
      await stage.pass(800);
      expect(stage.said().slice(1)).toEqual(['caller: Tomorrow', 'caller: Please']);
      expect(stage.requests.at(-1)?.messages.slice(-2)).toEqual(['user: Tomorrow', 'user: Please']);
      expect(stage.requests.at(-1)?.abandoned).toBe(false);
    });

    it('completes a turn after a timeout if the words stay the same while noise continues', async () => {
      stage = await openStage();
      await stage.speaks(800);
      stage.hears().onInterim('Tomorrow');
      await stage.speaks(7_500);
      expect(stage.said().at(-1)).toBe('caller: Tomorrow');
    });

    it('tolerates late frames of the caller without a restart or an early end of turn', async () => {
      stage = await openStage();
      await stage.comesLate(6_000, 1_000);
      await stage.pass(500);
      expect(stage.openings()).toBe(1);
      stage.hears().onInterim('Tomorrow');
      await stage.pass(100);
      stage.hears().onInterim('Tomorrow at ten');
      stage.hears().onProbableEnd('Tomorrow at ten');
      await stage.pass(100);
      expect(stage.said().slice(1)).toEqual(['caller: Tomorrow at ten']);
      expect(stage.openings()).toBe(1);
    });

    it('keeps the caller’s speech across a lost connection with a slow restart', async () => {
      stage = await openStage();
      await stage.speaks(800);
      stage.hears().onInterim('Tomor');
      await stage.pass(1_000);
      stage.hears().onLost(new ProviderError('recogniser', 'broke off', 2_000));
      await stage.pass(2_500);
      expect(stage.openings()).toBe(2);
      expect(stage.voiceGivenMs).toBe(800);
      stage.hears().onActivity();
      await stage.pass(500);
      stage.hears().onInterim('Tomorrow');
      stage.hears().onProbableEnd('Tomorrow');
      await stage.pass(1_000);
      expect(stage.said().filter((said) => said.startsWith('caller'))).toEqual(['caller: Tomorrow']);
      expect(stage.requests.at(-1)?.messages.at(-1)).toBe('user: Tomorrow');
    });

    it('asks the caller again after a lost connection without a transcript', async () => {
      stage = await openStage();
      await stage.speaks(800);
      await stage.pass(700);
      stage.hears().onLost(new ProviderError('recogniser', 'broke off'));
      await stage.pass(500);
      stage.hears().onActivity();
      await stage.pass(3_000);
      expect(stage.said().at(-1)).toBe(FILLER);
      expect(stage.lastRequest(2).messages.at(-1)).toBe(
        'user: [The other person said something that could not be understood. Ask them to repeat it.]',
      );
    });

    it('ends the call after it is silent twice', async () => {
      stage = await openStage();
      await stage.speaks(800);
      await stage.pass(12_000);
      expect(stage.openings()).toBe(2);
      expect(stage.failed?.message).toBe('the speech-to-text provider sent nothing for 3500 ms');
    });

    it('is not skipped by the calls of other accounts because it is silent twice, which noise may cause', async () => {
      stage = await openStage();
      await stage.speaks(800);
      await stage.pass(12_000);
      const others = { callId: 'call of b', accountId: 'b' };
      expect(stage.health.isOpen({ stage: 'stt', number: 1 }, others)).toBe(false);
    });
  });

  describe('text to speech', () => {
    it.each(['ends', 'mute'] as const)(
      'repeats the utterance on a new stream when the stream fails: %s',
      async (fault) => {
        stage = await openStage();
        stage.voiceFaults.push(fault);
        await stage.says('When is it?');
        stage.lastRequest(2).respond('At ten.');
        await stage.pass(1_500);
        expect(stage.said().at(-1)).toBe('agent: At ten.');
      },
    );

    it('ends the call after it is silent twice', async () => {
      stage = await openStage();
      stage.voiceFaults.push('mute', 'mute');
      await stage.says('When is it?');
      stage.lastRequest(2).respond('At ten.');
      await stage.pass(5_000);
      expect(stage.failed?.message).toBe('the text-to-speech provider returned no audio');
    });
  });

  describe('the language model', () => {
    it('is asked again after an empty reply to a tool result', async () => {
      stage = await openStage();
      await stage.says('When is it?');
      stage.lastRequest(2).respond('Let me see.', lookUp('call_1'));
      await stage.pass(100);
      stage.tools[0]?.finish(FOUND);
      await stage.pass(100);
      stage.lastRequest(3).respond('');
      await stage.pass(20);
      (await stage.retriedRequest(4)).respond('At ten.');
      await stage.pass(1_500);
      expect(stage.said().slice(2)).toEqual(['agent: Let me see.', 'agent: At ten.']);
    });

    it('can stay silent after a tool result without a failure', async () => {
      await toolAtWork();
      stage.tools[0]?.finish(FOUND);
      await stage.pass(100);
      stage.lastRequest(3).respond('');
      await stage.pass(20);
      (await stage.retriedRequest(4)).respond('');
      await stage.pass(2_000);
      expect(stage.requests).toHaveLength(4);
      expect(stage.failed).toBeUndefined();
      await stage.says('And now?');
      expect(stage.lastRequest(5).messages).toEqual([...withTool, 'user: And now?']);
    });

    it('must answer without tools after several rounds of tool calls', async () => {
      stage = await openStage();
      await stage.says('When is it?');
      for (let round = 0; round < 5; round++) {
        stage.lastRequest(2 + round).respond('', lookUp(`call_${round}`));
        await stage.pass(100);
        stage.tools[round]?.finish(FOUND);
        await stage.pass(100);
      }
      expect(stage.requests.map(({ mayCallTools }) => mayCallTools)).toEqual([...Array<boolean>(6).fill(true), false]);
      stage.lastRequest(7).respond('At ten.');
      await stage.pass(1_000);
      expect(stage.tools).toHaveLength(5);
      expect(stage.said().at(-1)).toBe('agent: At ten.');
    });
  });
});
