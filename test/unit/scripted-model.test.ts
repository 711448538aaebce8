import type { Meaning } from '../../src/voice/audio/grammar.js';
import { createInterview } from '../../src/voice/engines/offline/interview.js';
import { createScriptedModel } from '../../src/voice/engines/offline/scripted-model.js';
import { createSmallTalk } from '../../src/voice/engines/offline/small-talk.js';
import { createQuestions } from '../../src/voice/engines/offline/questions.js';
import type { TurnRecognition } from '../../src/voice/engines/offline/script.js';

const INTRODUCTION = ['Hello.', 'I am calling about your table.'];
const QUESTION = 'Agreed? Please say yes or no.';
const TWENTY_LEFT = 'We have about twenty seconds left.';

const understood = (meaning: Meaning): TurnRecognition => ({ outcome: 'understood', text: '', meaning });
const yes = understood({ kind: 'yes-no', value: true });

function openModel(template = { agreed: false, smoker: false }, resumed = false) {
  let nowMs = 0;
  const script = createInterview(createQuestions(template));
  const model = createScriptedModel({ script, introduction: INTRODUCTION, resumed, now: () => nowMs });
  return {
    model,
    pass: (ms: number) => void (nowMs += ms),
    says: (...tasks: Parameters<typeof model.reply>[0][]) =>
      tasks.map((task) => model.reply(task).parts.join(' ')).at(-1),
  };
}

function greetedModel(...template: Parameters<typeof openModel>) {
  const opened = openModel(...template);
  opened.says('introduce');
  opened.model.onUtteranceEnd({ task: 'introduce', playedMs: 3_000, questionMs: 1_500, complete: true });
  return opened;
}

describe('the scripted model of the offline engine', () => {
  it('introduces itself and asks, and accepts no answer before the caller hears the question', () => {
    const { model, says } = openModel();
    expect(says('introduce')).toBe(`${INTRODUCTION.join(' ')} ${QUESTION}`);
    expect(model.grammar()).toEqual({ kind: 'commands' });
    model.onUtteranceEnd({ task: 'introduce', playedMs: 400, questionMs: 0, complete: false });
    model.setTurn(yes);
    expect(says('answer')).toBe(`${INTRODUCTION.join(' ')} ${QUESTION}`);
    expect(model.values()).toEqual({});
  });

  it('says who it is until that was heard, however often the caller interrupts', () => {
    const { model, says } = openModel();
    const interrupted = (task: 'introduce' | 'answer', playedMs: number) =>
      model.onUtteranceEnd({ task, playedMs, questionMs: 0, complete: false });
    says('introduce');
    interrupted('introduce', 400);
    for (const playedMs of [500, 600, 2_000]) {
      expect(says('answer')).toBe(`${INTRODUCTION.join(' ')} ${QUESTION}`);
      interrupted('answer', playedMs);
    }
    expect(says('answer')).toBe(QUESTION);
  });

  it('repeats its question if the caller interrupts the introduction before it', () => {
    const { model, says } = openModel();
    says('introduce');
    model.onUtteranceEnd({ task: 'introduce', playedMs: 4_000, questionMs: 900, complete: false });
    model.setTurn(yes);
    expect(says('answer')).toBe(QUESTION);
    expect(model.values()).toEqual({});
  });

  it('accepts an answer after one second of the question in the introduction', () => {
    const { model, says } = openModel();
    says('introduce');
    model.onUtteranceEnd({ task: 'introduce', playedMs: 4_000, questionMs: 1_000, complete: false });
    expect(model.grammar()).toEqual({ kind: 'yes-no' });
    model.setTurn(yes);
    expect(says('answer')).toBe('Thank you. Smoker? Please say yes or no.');
  });

  it('treats a question as heard if its repetition to a silent caller is interrupted', () => {
    const { model, says } = greetedModel();
    model.onUtteranceEnd({ playedMs: 500, questionMs: 0, complete: false });
    model.setTurn(yes);
    expect(says('answer')).toBe('Thank you. Smoker? Please say yes or no.');
  });

  it('knows where its question begins after other sentences', () => {
    const { model } = openModel();
    model.endingSoon(20);
    const { parts, questionAt } = model.reply('introduce');
    expect(parts.slice(questionAt).join(' ')).toBe(QUESTION);
    model.onUtteranceEnd({ task: 'introduce', playedMs: 9_000, questionMs: 2_000, complete: true });
    model.endingSoon(20);
    model.setTurn(yes);
    const answer = model.reply('answer');
    expect(answer.parts.slice(answer.questionAt).join(' ')).toBe('Smoker? Please say yes or no.');
  });

  it.each(['answer', 'continue'] as const)(
    'says on a new stream that the line broke, until the caller has heard it: %s',
    (task) => {
      const { model, says } = openModel(undefined, true);
      model.setTurn(yes);
      expect(says(task)).toBe(`Sorry, the line broke for a moment. ${QUESTION}`);
      model.onUtteranceEnd({ task, playedMs: 900, questionMs: 0, complete: false });
      model.setTurn(understood({ kind: 'command', command: 'hello' }));
      expect(says('answer')).toBe(`Sorry, the line broke for a moment. ${QUESTION}`);
      expect(model.values()).toEqual({});
      model.onUtteranceEnd({ task: 'answer', playedMs: 3_000, questionMs: 1_000, complete: true });
      model.setTurn(yes);
      expect(says('answer')).toBe('Thank you. Smoker? Please say yes or no.');
    },
  );

  it('repeats a question that was interrupted in its first second, and accepts no answer to it', () => {
    const { model, says } = greetedModel();
    model.setTurn(yes);
    says('answer');
    model.onUtteranceEnd({ task: 'answer', playedMs: 1_500, questionMs: 900, complete: false });
    model.setTurn(yes);
    expect(says('answer')).toBe('Smoker? Please say yes or no.');
    expect(model.values()).toEqual({ agreed: true });
    model.onUtteranceEnd({ task: 'answer', playedMs: 1_600, questionMs: 1_000, complete: false });
    model.setTurn(yes);
    expect(says('answer')).toMatch(/Goodbye/);
  });

  it('accepts DTMF digits at once, even before the introduction is heard', () => {
    const { model, says } = openModel();
    says('introduce');
    expect(model.onDigit('1')).toBe(true);
    expect(model.values()).toEqual({ agreed: true });
    expect(says('digits')).toBe('Thank you. Smoker? Please say yes or no.');
    expect(model.grammar()).toEqual({ kind: 'yes-no' });
  });

  it('accepts no spoken answer to a question that follows a digit and was not heard', () => {
    const { model, says } = greetedModel();
    model.onDigit('1');
    model.setTurn(yes);
    expect(says('answer')).toBe('Smoker? Please say yes or no.');
    expect(model.values()).toEqual({ agreed: true });
  });

  it('waits for the rest of a number and accepts it as it is after a pause', () => {
    const { model, says } = greetedModel({ code: null } as never);
    expect(['4', '1', '5'].map((digit) => model.onDigit(digit))).toEqual([false, false, false]);
    expect(says('digits')).toMatch(/Goodbye/);
    expect(model.values()).toEqual({ code: '415' });
  });

  it('announces the remaining time once, with the next reply', () => {
    const { model, pass, says } = greetedModel();
    model.endingSoon(20);
    expect(says('wrap_up')).toBe(TWENTY_LEFT);
    expect(says('continue')).toBe(QUESTION);
    model.endingSoon(20);
    pass(10_000);
    model.setTurn(yes);
    expect(says('answer')).toBe('We have only a few seconds left. Thank you. Smoker? Please say yes or no.');
  });

  it('accepts an answer right before the caller hangs up, if the question was heard', () => {
    const [greeted, unheard] = [greetedModel(), openModel()];
    for (const { model } of [greeted, unheard]) model.takeFinalTurn(yes);
    expect(greeted.model.values()).toEqual({ agreed: true });
    expect(unheard.model.values()).toEqual({});
  });

  it('answers DTMF digits like turns in a conversation without questions', () => {
    const model = createScriptedModel({ script: createSmallTalk(), introduction: INTRODUCTION, now: () => 0 });
    model.reply('introduce');
    expect(model.onDigit('1')).toBe(false);
    expect(model.reply('digits').parts).toEqual(['Thank you, I have noted that.']);
  });
});
