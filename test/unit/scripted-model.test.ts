import type { Meaning } from '../../src/voice/audio/grammar.js';
import { createInterview } from '../../src/voice/engines/offline/interview.js';
import { createScriptedModel } from '../../src/voice/engines/offline/scripted-model.js';
import { createSmallTalk } from '../../src/voice/engines/offline/small-talk.js';
import { questionsOf } from '../../src/voice/engines/offline/questions.js';
import type { Heard } from '../../src/voice/engines/offline/script.js';

const INTRODUCTION = ['Hello.', 'I am calling about your table.'];
const QUESTION = 'Agreed? Please say yes or no.';
const TWENTY_LEFT = 'We have about twenty seconds left.';

const understood = (meaning: Meaning): Heard => ({ outcome: 'understood', text: '', meaning });
const yes = understood({ kind: 'yes-no', value: true });

function openModel(template = { agreed: false, smoker: false }, resumed = false) {
  let nowMs = 0;
  const script = createInterview(questionsOf(template));
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
  opened.model.lineOver({ task: 'introduce', playedMs: 3_000, questionMs: 1_500, complete: true });
  return opened;
}

describe('a script in the place of a model', () => {
  it('introduces itself and asks, and takes nothing for an answer before that was heard', () => {
    const { model, says } = openModel();
    expect(says('introduce')).toBe(`${INTRODUCTION.join(' ')} ${QUESTION}`);
    expect(model.grammar()).toEqual({ kind: 'commands' });
    model.lineOver({ task: 'introduce', playedMs: 400, questionMs: 0, complete: false });
    model.hears(yes);
    expect(says('answer')).toBe(QUESTION);
    expect(model.values()).toEqual({});
  });

  it('asks its question of a caller who interrupts the introduction before it', () => {
    const { model, says } = openModel();
    says('introduce');
    model.lineOver({ task: 'introduce', playedMs: 4_000, questionMs: 900, complete: false });
    model.hears(yes);
    expect(says('answer')).toBe(QUESTION);
    expect(model.values()).toEqual({});
  });

  it('takes an answer over one second of the question in the introduction', () => {
    const { model, says } = openModel();
    says('introduce');
    model.lineOver({ task: 'introduce', playedMs: 4_000, questionMs: 1_000, complete: false });
    expect(model.grammar()).toEqual({ kind: 'yes-no' });
    model.hears(yes);
    expect(says('answer')).toBe('Thank you. Smoker? Please say yes or no.');
  });

  it('keeps a question heard that is asked again of a silent caller and interrupted', () => {
    const { model, says } = greetedModel();
    model.lineOver({ playedMs: 500, questionMs: 0, complete: false });
    model.hears(yes);
    expect(says('answer')).toBe('Thank you. Smoker? Please say yes or no.');
  });

  it('knows where its question begins, behind what is said before it', () => {
    const { model } = openModel();
    model.endingSoon(20);
    const { parts, questionAt } = model.reply('introduce');
    expect(parts.slice(questionAt).join(' ')).toBe(QUESTION);
    model.lineOver({ task: 'introduce', playedMs: 9_000, questionMs: 2_000, complete: true });
    model.endingSoon(20);
    model.hears(yes);
    const answer = model.reply('answer');
    expect(answer.parts.slice(answer.questionAt).join(' ')).toBe('Smoker? Please say yes or no.');
  });

  it.each(['answer', 'go_on'] as const)(
    'tells who is first heard on a new stream that the line broke, until they heard it: %s',
    (task) => {
      const { model, says } = openModel(undefined, true);
      model.hears(yes);
      expect(says(task)).toBe(`Sorry, the line broke for a moment. ${QUESTION}`);
      model.lineOver({ task, playedMs: 900, questionMs: 0, complete: false });
      model.hears(understood({ kind: 'command', command: 'hello' }));
      expect(says('answer')).toBe(`Sorry, the line broke for a moment. ${QUESTION}`);
      expect(model.values()).toEqual({});
      model.lineOver({ task: 'answer', playedMs: 3_000, questionMs: 1_000, complete: true });
      model.hears(yes);
      expect(says('answer')).toBe('Thank you. Smoker? Please say yes or no.');
    },
  );

  it('asks a question again that was cut off in its first second, and takes nothing said to it for an answer', () => {
    const { model, says } = greetedModel();
    model.hears(yes);
    says('answer');
    model.lineOver({ task: 'answer', playedMs: 1_500, questionMs: 900, complete: false });
    model.hears(yes);
    expect(says('answer')).toBe('Smoker? Please say yes or no.');
    expect(model.values()).toEqual({ agreed: true });
    model.lineOver({ task: 'answer', playedMs: 1_600, questionMs: 1_000, complete: false });
    model.hears(yes);
    expect(says('answer')).toMatch(/Goodbye/);
  });

  it('takes keys at once, before anything was heard, too', () => {
    const { model, says } = openModel();
    says('introduce');
    expect(model.key('1')).toBe(true);
    expect(model.values()).toEqual({ agreed: true });
    expect(says('digits')).toBe('Thank you. Smoker? Please say yes or no.');
    expect(model.grammar()).toEqual({ kind: 'yes-no' });
  });

  it('takes no words for the answer to a question that a key has led on to', () => {
    const { model, says } = greetedModel();
    model.key('1');
    model.hears(yes);
    expect(says('answer')).toBe('Smoker? Please say yes or no.');
    expect(model.values()).toEqual({ agreed: true });
  });

  it('waits for the rest of a number, and takes it as it is when no more comes', () => {
    const { model, says } = greetedModel({ code: null } as never);
    expect(['4', '1', '5'].map((key) => model.key(key))).toEqual([false, false, false]);
    expect(says('digits')).toMatch(/Goodbye/);
    expect(model.values()).toEqual({ code: '415' });
  });

  it('tells of the end with what is left by then, with the next reply, once', () => {
    const { model, pass, says } = greetedModel();
    model.endingSoon(20);
    expect(says('wrap_up')).toBe(TWENTY_LEFT);
    expect(says('go_on')).toBe(QUESTION);
    model.endingSoon(20);
    pass(10_000);
    model.hears(yes);
    expect(says('answer')).toBe('We have only a few seconds left. Thank you. Smoker? Please say yes or no.');
  });

  it('counts the last word of a caller who has heard the question', () => {
    const [greeted, unheard] = [greetedModel(), openModel()];
    for (const { model } of [greeted, unheard]) model.hearsLast(yes);
    expect(greeted.model.values()).toEqual({ agreed: true });
    expect(unheard.model.values()).toEqual({});
  });

  it('answers keys as it answers turns where it asks for nothing', () => {
    const model = createScriptedModel({ script: createSmallTalk(), introduction: INTRODUCTION, now: () => 0 });
    model.reply('introduce');
    expect(model.key('1')).toBe(false);
    expect(model.reply('digits').parts).toEqual(['Thank you, I have noted that.']);
  });
});
