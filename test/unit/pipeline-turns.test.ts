import { ProviderError } from '../../src/voice/engines/pipeline/ports.js';
import { GREETING, lookUp, openStage, type Stage } from '../support/pipeline-stage';

const OPENED = 'user: [The line is open. Begin to speak.]';
const GREETED = [OPENED, `assistant: ${GREETING}`];
const FOUND = { ok: true, result: { at: 'ten' } } as const;
const FILLER = 'agent: One moment, please.';

describe('the turns of a call of the pipeline engine', () => {
  let stage: Stage;
  beforeEach(() => jest.useFakeTimers());
  afterEach(async () => {
    await stage.close();
    jest.useRealTimers();
  });

  /** The caller has asked, and the model has the tool called. */
  async function toolAtWork(): Promise<void> {
    stage = await openStage();
    await stage.says('When is it?');
    stage.lastAsked(2).answers('', lookUp('call_1'));
    await stage.pass(100);
    expect(stage.tools).toHaveLength(1);
  }

  const withTool = [...GREETED, 'user: When is it?', 'assistant: ', 'tool: {"at":"ten"}'];

  describe('a caller who speaks while a tool is at work', () => {
    it('the tool finishes after the turn: the reply waits for it', async () => {
      await toolAtWork();
      await stage.says('Hurry up.');
      await stage.pass(500);
      expect(stage.asked).toHaveLength(2);
      stage.tools[0]?.finish(FOUND);
      await stage.pass(100);
      expect(stage.lastAsked(3).talk).toEqual([...withTool, 'user: Hurry up.']);
      stage.lastAsked(3).answers('It is at ten.');
      await stage.pass(1_000);
      expect(stage.said().slice(1)).toEqual(['caller: When is it?', 'caller: Hurry up.', 'agent: It is at ten.']);
    });

    it('the tool finishes in the midst of the turn: what the model says to it is taken back for the answer to the turn', async () => {
      await toolAtWork();
      await stage.speaks(400);
      stage.tools[0]?.finish(FOUND);
      await stage.pass(20);
      expect(stage.lastAsked(3).talk).toEqual(withTool);
      await stage.says('Hurry up.');
      expect(stage.lastAsked(4).talk).toEqual([...withTool, 'user: Hurry up.']);
      expect(stage.asked[2]?.abandoned).toBe(true);
      stage.lastAsked(4).answers('It is at ten.');
      await stage.pass(1_000);
      expect(stage.said().at(-1)).toBe('agent: It is at ten.');
    });

    it('the answer to the tool begins within the turn: it stops, and the turn is answered', async () => {
      await toolAtWork();
      stage.tools[0]?.finish(FOUND);
      await stage.speaks(400);
      stage.lastAsked(3).answers('It is at ten in the morning.');
      await stage.says('Hurry up.');
      expect(stage.lastAsked(4).talk).toEqual([...withTool, 'user: Hurry up.']);
      stage.lastAsked(4).answers('At ten.');
      await stage.pass(1_000);
      expect(stage.said().at(-1)).toBe('agent: At ten.');
    });

    it('voice detection cuts the turn in two: both halves wait for the tool, which is called once', async () => {
      await toolAtWork();
      await stage.says('Please do');
      await stage.says('hurry up.');
      await stage.pass(300);
      expect(stage.asked).toHaveLength(2);
      stage.tools[0]?.finish(FOUND);
      await stage.pass(100);
      expect(stage.lastAsked(3).talk).toEqual([...withTool, 'user: Please do', 'user: hurry up.']);
      stage.lastAsked(3).answers('At ten.');
      await stage.pass(1_000);
      expect(stage.said().at(-1)).toBe('agent: At ten.');
    });

    it('the tool finishes between two halves: the answer begun for the first is taken back for that to both', async () => {
      await toolAtWork();
      await stage.says('Please do');
      stage.tools[0]?.finish(FOUND);
      await stage.pass(40);
      await stage.says('hurry up.');
      expect(stage.lastAsked(4).talk).toEqual([...withTool, 'user: Please do', 'user: hurry up.']);
      stage.lastAsked(4).answers('At ten.');
      await stage.pass(1_000);
      expect(stage.said().at(-1)).toBe('agent: At ten.');
    });

    it('the words come long after the silence: they are answered all the same', async () => {
      await toolAtWork();
      await stage.speaks(800);
      await stage.pass(1_500);
      stage.tools[0]?.finish(FOUND);
      stage.hears().onWords('Hurry up.');
      stage.hears().onMayEnd('Hurry up.');
      await stage.pass(100);
      expect(stage.asked.at(-1)?.talk).toEqual([...withTool, 'user: Hurry up.']);
      stage.asked.at(-1)?.answers('At ten.');
      await stage.pass(2_500);
      expect(stage.said().at(-1)).toBe('agent: At ten.');
    });

    it('the words come after the answer to the tool was heard: they are answered next', async () => {
      await toolAtWork();
      await stage.speaks(800);
      stage.tools[0]?.finish(FOUND);
      await stage.pass(100);
      stage.lastAsked(3).answers('At ten.');
      await stage.pass(1_500);
      stage.hears().onWords('Hurry up.');
      stage.hears().onMayEnd('Hurry up.');
      await stage.pass(100);
      expect(stage.lastAsked(4).talk.slice(-2)).toEqual(['assistant: At ten.', 'user: Hurry up.']);
    });

    it('a noise over the filler: the filler stops, and the answer is not lost', async () => {
      await toolAtWork();
      await stage.pass(1_700);
      expect(stage.isPlaying()).toBe(true);
      await stage.speaks(400);
      expect(stage.isPlaying()).toBe(false);
      stage.hears().onAlive();
      stage.tools[0]?.finish(FOUND);
      await stage.pass(3_000);
      expect(stage.lastAsked(3).talk).toEqual(withTool);
      stage.lastAsked(3).answers('At ten.');
      await stage.pass(1_000);
      expect(stage.said().at(-1)).toBe('agent: At ten.');
    });

    it('words over the filler: they are answered when the tool has finished', async () => {
      await toolAtWork();
      await stage.pass(1_700);
      await stage.says('Hurry up.');
      stage.tools[0]?.finish(FOUND);
      await stage.pass(100);
      expect(stage.lastAsked(3).talk).toEqual([...withTool, 'user: Hurry up.']);
    });
  });

  describe('the filler', () => {
    it('is not said into the words of a caller, but after them', async () => {
      await toolAtWork();
      await stage.pass(900);
      await stage.speaks(1_500);
      expect(stage.isPlaying()).toBe(false);
      expect(stage.clears).toBe(0);
      stage.hears().onAlive();
      await stage.pass(1_000);
      expect(stage.isPlaying()).toBe(true);
      await stage.pass(1_000);
      expect(stage.said().at(-1)).toBe(FILLER);
    });
  });

  describe('an answer begun early', () => {
    it('is heard when the turn ends with the words it was begun for', async () => {
      stage = await openStage();
      await stage.speaks(800);
      stage.hears().onWords('Tomorrow');
      stage.hears().onMayEnd('Tomorrow');
      await stage.pass(40);
      stage.lastAsked(2).answers('At ten.');
      await stage.pass(200);
      expect(stage.isPlaying()).toBe(false);
      await stage.pass(1_000);
      expect(stage.lastAsked(2).talk).toEqual([...GREETED, 'user: Tomorrow']);
      expect(stage.said().slice(1)).toEqual(['caller: Tomorrow', 'agent: At ten.']);
    });

    it('is taken back when the caller goes on, and begun again for all the words', async () => {
      stage = await openStage();
      await stage.speaks(800);
      stage.hears().onWords('Tomorrow');
      stage.hears().onMayEnd('Tomorrow');
      await stage.pass(300);
      stage.lastAsked(2).answers('This must never be heard.');
      await stage.speaks(300);
      stage.hears().onGoesOn();
      await stage.says('Tomorrow or today.');
      expect(stage.lastAsked(3).talk).toEqual([...GREETED, 'user: Tomorrow or today.']);
      stage.lastAsked(3).answers('Which?');
      await stage.pass(1_000);
      expect(stage.said().slice(1)).toEqual(['caller: Tomorrow or today.', 'agent: Which?']);
    });

    it('is taken back and the caller says no more after all: the words are answered', async () => {
      stage = await openStage();
      await stage.speaks(800);
      stage.hears().onWords('Tomorrow');
      stage.hears().onMayEnd('Tomorrow');
      await stage.pass(200);
      stage.hears().onGoesOn();
      await stage.pass(3_000);
      expect(stage.lastAsked(3).talk).toEqual([...GREETED, 'user: Tomorrow']);
      expect(stage.asked[1]?.abandoned).toBe(true);
    });

    it('does not stand for one that knows that the call is ending', async () => {
      stage = await openStage();
      await stage.speaks(800);
      stage.hears().onWords('Tomorrow');
      stage.hears().onMayEnd('Tomorrow');
      await stage.pass(100);
      stage.endingSoon(20);
      await stage.pass(700);
      const ending = 'user: [The call will be ended in about 20 seconds. Say so in a few words and come to an end.]';
      expect(stage.lastAsked(3).talk).toEqual([...GREETED, ending, 'user: Tomorrow']);
    });
  });

  describe('a recogniser', () => {
    it('that tells of no end: the words are the turn after a while', async () => {
      stage = await openStage();
      await stage.speaks(800);
      stage.hears().onWords('Tomorrow');
      await stage.pass(2_500);
      expect(stage.hurries).toBe(1);
      expect(stage.said().at(-1)).toBe('caller: Tomorrow');
    });

    it.each([false, true])(
      'that hears words which voice detection does not: they are a turn, too (it decides turns: %s)',
      async (decidesTurns) => {
        stage = await openStage({ decidesTurns });
        stage.hears().onWords('Tomorrow');
        await stage.pass(decidesTurns ? 7_500 : 2_500);
        expect(stage.said().at(-1)).toBe('caller: Tomorrow');
        expect(stage.lastAsked(2).talk.at(-1)).toBe('user: Tomorrow');
      },
    );

    it('that ended the turn before voice detection did: words right after it are a turn of their own', async () => {
      stage = await openStage();
      await stage.speaks(800);
      await stage.pass(300);
      stage.hears().onEnd('Tomorrow');
      await stage.pass(100);
      stage.hears().onWords('Please');
      stage.hears().onMayEnd('Please');
      await stage.pass(800);
      expect(stage.said().slice(1)).toEqual(['caller: Tomorrow', 'caller: Please']);
      expect(stage.asked.at(-1)?.talk.slice(-2)).toEqual(['user: Tomorrow', 'user: Please']);
      expect(stage.asked.at(-1)?.abandoned).toBe(false);
    });

    it('whose words stand still while a noise goes on: they are the turn after a while', async () => {
      stage = await openStage();
      await stage.speaks(800);
      stage.hears().onWords('Tomorrow');
      await stage.speaks(7_500);
      expect(stage.said().at(-1)).toBe('caller: Tomorrow');
    });

    it('is not taken for stalled, nor the turn for over, when the caller’s frames come late', async () => {
      stage = await openStage();
      await stage.comesLate(6_000, 1_000);
      await stage.pass(500);
      expect(stage.openings()).toBe(1);
      stage.hears().onWords('Tomorrow');
      await stage.pass(100);
      stage.hears().onWords('Tomorrow at ten');
      stage.hears().onMayEnd('Tomorrow at ten');
      await stage.pass(100);
      expect(stage.said().slice(1)).toEqual(['caller: Tomorrow at ten']);
      expect(stage.openings()).toBe(1);
    });

    it('that is lost after the caller’s words, and slow to come back: they are not taken for a noise', async () => {
      stage = await openStage();
      await stage.speaks(800);
      stage.hears().onWords('Tomor');
      await stage.pass(1_000);
      stage.hears().onLost(new ProviderError('recogniser', 'broke off', 2_000));
      await stage.pass(2_500);
      expect(stage.openings()).toBe(2);
      expect(stage.voiceGivenMs).toBe(800);
      stage.hears().onAlive();
      await stage.pass(500);
      stage.hears().onWords('Tomorrow');
      stage.hears().onMayEnd('Tomorrow');
      await stage.pass(1_000);
      expect(stage.said().filter((said) => said.startsWith('caller'))).toEqual(['caller: Tomorrow']);
      expect(stage.asked.at(-1)?.talk.at(-1)).toBe('user: Tomorrow');
    });

    it('that is lost, and understands nothing when it is back: a caller told to wait is asked again', async () => {
      stage = await openStage();
      await stage.speaks(800);
      await stage.pass(700);
      stage.hears().onLost(new ProviderError('recogniser', 'broke off'));
      await stage.pass(500);
      stage.hears().onAlive();
      await stage.pass(3_000);
      expect(stage.said().at(-1)).toBe(FILLER);
      expect(stage.lastAsked(2).talk.at(-1)).toBe(
        'user: [The far end said something that could not be understood. Ask for it again.]',
      );
    });

    it('that is mute twice: the call comes to an end', async () => {
      stage = await openStage();
      await stage.speaks(800);
      await stage.pass(12_000);
      expect(stage.openings()).toBe(2);
      expect(stage.failed?.message).toBe('recogniser: sent nothing for 3500 ms');
    });
  });

  describe('a voice', () => {
    it.each(['ends', 'mute'] as const)('whose stream %s: what was to be said is said by another one', async (fault) => {
      stage = await openStage();
      stage.voiceFaults.push(fault);
      await stage.says('When is it?');
      stage.lastAsked(2).answers('At ten.');
      await stage.pass(1_500);
      expect(stage.said().at(-1)).toBe('agent: At ten.');
    });

    it('that is mute twice: the call comes to an end', async () => {
      stage = await openStage();
      stage.voiceFaults.push('mute', 'mute');
      await stage.says('When is it?');
      stage.lastAsked(2).answers('At ten.');
      await stage.pass(5_000);
      expect(stage.failed?.message).toBe('voice: spoke nothing');
    });
  });

  describe('a model', () => {
    it('that says nothing to a tool’s answer: it is asked once more', async () => {
      stage = await openStage();
      await stage.says('When is it?');
      stage.lastAsked(2).answers('Let me see.', lookUp('call_1'));
      await stage.pass(100);
      stage.tools[0]?.finish(FOUND);
      await stage.pass(100);
      stage.lastAsked(3).answers('');
      await stage.pass(20);
      (await stage.askedAgain(4)).answers('At ten.');
      await stage.pass(1_500);
      expect(stage.said().slice(2)).toEqual(['agent: Let me see.', 'agent: At ten.']);
    });

    it('that has nothing to say after a tool: that is no failure', async () => {
      await toolAtWork();
      stage.tools[0]?.finish(FOUND);
      await stage.pass(100);
      stage.lastAsked(3).answers('');
      await stage.pass(20);
      (await stage.askedAgain(4)).answers('');
      await stage.pass(2_000);
      expect(stage.asked).toHaveLength(4);
      expect(stage.failed).toBeUndefined();
      await stage.says('And now?');
      expect(stage.lastAsked(5).talk).toEqual([...withTool, 'user: And now?']);
    });

    it('that calls tools again and again: it has to answer without one at last', async () => {
      stage = await openStage();
      await stage.says('When is it?');
      for (let round = 0; round < 5; round++) {
        stage.lastAsked(2 + round).answers('', lookUp(`call_${round}`));
        await stage.pass(100);
        stage.tools[round]?.finish(FOUND);
        await stage.pass(100);
      }
      expect(stage.asked.map(({ mayCallTools }) => mayCallTools)).toEqual([...Array<boolean>(6).fill(true), false]);
      stage.lastAsked(7).answers('At ten.');
      await stage.pass(1_000);
      expect(stage.tools).toHaveLength(5);
      expect(stage.said().at(-1)).toBe('agent: At ten.');
    });
  });
});
