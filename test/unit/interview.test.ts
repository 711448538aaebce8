import type { Meaning } from '../../src/voice/audio/grammar.js';
import { createInterview } from '../../src/voice/engines/offline/interview.js';
import { questionsOf } from '../../src/voice/engines/offline/questions.js';
import type { Heard, Script } from '../../src/voice/engines/offline/script.js';
import type { ParameterValues } from '../../src/voice/engines/port.js';

const TEMPLATE: ParameterValues = { is_confirmed: false, orderNumber: null, size: 'small | medium|large', guests: 0 };

const interview = (template: ParameterValues = TEMPLATE, known?: ParameterValues) =>
  createInterview(questionsOf(template), known);

const understood = (meaning: Meaning): Heard => ({ outcome: 'understood', text: '', meaning });
const yes = understood({ kind: 'yes-no', value: true });
const no = understood({ kind: 'yes-no', value: false });
const digits = (text: string) => understood({ kind: 'digits', digits: text });
const choice = (index: number) => understood({ kind: 'choice', index });
const command = (word: 'repeat' | 'operator' | 'hello' | 'goodbye') => understood({ kind: 'command', command: word });
const unclear: Heard = { outcome: 'not understood' };

const hear = (script: Script, ...turns: Heard[]) => turns.map((turn) => script.onHeard(turn).parts.join(' ')).at(-1);
const press = (script: Script, keys: string) => Array.from(keys, (key) => script.onKey(key)?.parts.join(' ')).at(-1);

describe('questions', () => {
  it('are asked in the words of the keys, by what the default is', () => {
    expect(questionsOf(TEMPLATE).map(({ ask }) => ask.join(' '))).toEqual([
      'Is confirmed? Please say yes or no.',
      'What is your order number? Please say or key in the digits.',
      'Which size: small, medium or large?',
      'What is your guests? Please say or key in the digits.',
    ]);
  });

  it('offer what can be said and let the rest be keyed', () => {
    const [question] = questionsOf({ dish: '大|rice' });
    expect(question?.grammar).toEqual({ kind: 'choices', choices: ['rice'] });
    expect(question?.valueOf({ kind: 'choice', index: 0 })).toBe('rice');
    expect(question?.valueOfKeys('1')).toBe('大');
    expect(question?.hint).toBe('Please say one of them, or press 1 for 大, 2 for rice.');
  });

  it('of keys without letters or without end can still be asked', () => {
    expect(questionsOf({ ___: null })[0]?.ask[0]).toBe('What is your next answer?');
    expect(questionsOf({ ['x'.repeat(5_000)]: null })[0]?.ask[0]?.length).toBeLessThan(120);
  });
});

describe('an interview', () => {
  it('fills the template by voice, reads digits back, and is over after the last answer', () => {
    const script = interview();
    expect(script.opening().parts).toEqual(['Is confirmed?', 'Please say yes or no.']);
    expect(hear(script, yes)).toBe('Thank you. What is your order number? Please say or key in the digits.');
    expect(hear(script, digits('0415'))).toBe('I heard 0, 4, 1, 5. Is that right?');
    expect(script.values()).toEqual({ is_confirmed: true });
    expect(hear(script, yes)).toBe('Thank you. Which size: small, medium or large?');
    expect(hear(script, choice(2))).toBe('large. Thank you. What is your guests? Please say or key in the digits.');
    expect(hear(script, digits('12'))).toBe('I heard 1, 2. Is that right?');
    const last = script.onHeard(yes);
    expect(last).toEqual({ parts: ['Thank you. That is all I need to know. Goodbye.'], over: 'agent' });
    expect(script.values()).toEqual({ is_confirmed: true, orderNumber: '0415', size: 'large', guests: 12 });
  });

  it('takes keys at once: digits to the pound key or a pause, 1 and 2 for yes and no, a choice by its number', () => {
    const script = interview();
    expect(press(script, '2')).toMatch(/^Thank you\. What is your order number/);
    expect(press(script, '0415')).toBeUndefined();
    expect(press(script, '#')).toMatch(/^Thank you\. Which size/);
    expect(press(script, '2')).toMatch(/^medium\. Thank you/);
    expect(press(script, '31')).toBeUndefined();
    expect(script.onKeysPaused()).toMatchObject({ over: 'agent' });
    expect(script.values()).toEqual({ is_confirmed: false, orderNumber: '0415', size: 'medium', guests: 31 });
  });

  it('takes digits that were read back wrongly for none, and asks again', () => {
    const script = interview({ pin: null });
    expect(hear(script, digits('41'), no)).toBe(
      'Sorry, let us try again. Please say it digit by digit, or key it in and press the pound key.',
    );
    expect(script.values()).toEqual({});
    expect(hear(script, digits('42'))).toBe('I heard 4, 2. Is that right?');
    expect(press(script, '1')).toBe('Thank you. That is all I need to know. Goodbye.');
    expect(script.values()).toEqual({ pin: '42' });
  });

  it('asks twice more, then leaves the question open: null, never the default', () => {
    const script = interview({ confirmed: false, note: null });
    expect(hear(script, unclear)).toMatch(/^Sorry, I did not understand\. Please say yes or no, or press 1/);
    expect(hear(script, unclear)).toMatch(/^Sorry, I did not understand/);
    expect(hear(script, unclear)).toBe('Let us leave that open. What is your note? Please say or key in the digits.');
    expect(hear(script, unclear, unclear, unclear)).toBe(
      'Let us leave that open. Thank you. That is all I need to know. Goodbye.',
    );
    expect(script.values()).toEqual({ confirmed: null, note: null });
  });

  it('repeats on request, the read-back too, without counting that as an answer, but not for ever', () => {
    const script = interview({ pin: null });
    for (const word of ['repeat', 'hello'] as const) {
      expect(hear(script, command(word))).toBe('What is your pin? Please say or key in the digits.');
    }
    expect(hear(script, command('operator'))).toMatch(/cannot put you through\. What is your pin/);
    expect(hear(script, digits('7'), command('repeat'))).toBe('I heard 7. Is that right?');
    expect(press(script, '*')).toBe('I heard 7. Is that right?');
    const replies = Array.from({ length: 10 }, () => script.onHeard(command('repeat')));
    expect(replies.some(({ over }) => over === 'agent')).toBe(true);
    expect(script.values()).toEqual({ pin: null });
  });

  it('ends politely when the caller says goodbye, with what is known by then', () => {
    const script = interview();
    hear(script, no);
    expect(script.onHeard(command('goodbye'))).toEqual({
      parts: ['Thank you for your time. Goodbye.'],
      over: 'caller',
    });
    expect(script.values()).toEqual({ is_confirmed: false });
  });

  it('asks for keys while nothing can be listened to', () => {
    expect(hear(interview(), { outcome: 'overloaded' })).toBe(
      'Sorry, I cannot listen to you right now. Please use the keys of your telephone. Press 1 for yes or 2 for no.',
    );
  });

  it('goes on with the first question that is not answered', () => {
    const script = interview(TEMPLATE, { is_confirmed: true, orderNumber: '7' });
    expect(script.bridge().parts).toEqual([
      'Sorry, the line broke for a moment.',
      'Which size: small, medium or large?',
    ]);
    expect(script.values()).toEqual({ is_confirmed: true, orderNumber: '7' });
  });

  it('leaves a question open that was given up before the line broke', () => {
    const before = interview({ code: null, agreed: false });
    hear(before, unclear, unclear, unclear);
    const script = interview({ code: null, agreed: false }, before.values());
    expect(script.bridge().parts.join(' ')).toBe('Sorry, the line broke for a moment. Agreed? Please say yes or no.');
    expect(script.values()).toEqual({ code: null });
  });

  it('says goodbye when the line broke after the last answer', () => {
    const script = interview({ code: null, agreed: false }, { code: null, agreed: true });
    expect(script.bridge()).toEqual({
      parts: ['Sorry, the line broke for a moment.', 'Thank you. That is all I need to know. Goodbye.'],
      over: 'agent',
    });
  });

  it('asks for keys that every object has by birth, like any other', () => {
    const script = interview({ constructor: null, valueOf: true }, { constructor: '7' });
    expect(script.bridge().parts).toContain('Value of?');
    expect(script.values()).toEqual({ constructor: '7' });
    expect(interview({ constructor: null }).opening().parts[0]).toBe('What is your constructor?');
  });

  it('refuses keys that are no answer and numbers that are not exact', () => {
    const script = interview({ agreed: true, count: 0 });
    expect(press(script, '9')).toMatch(/^Sorry, I did not understand\. Press 1 for yes/);
    press(script, '1');
    expect(press(script, `${'9'.repeat(16)}#`)).toMatch(/^Sorry, I did not understand\. Please key it in/);
    expect(press(script, `${'9'.repeat(15)}#`)).toMatch(/Goodbye/);
    expect(script.values()).toEqual({ agreed: true, count: 999_999_999_999_999 });
  });

  it('takes a pound key that follows an answer already taken for no answer to the next question', () => {
    const script = interview({ agreed: true, pin: null });
    expect(press(script, '1#')).toBe('What is your pin? Please say or key in the digits.');
    expect(press(script, '415#')).toMatch(/Goodbye/);
    expect(script.values()).toEqual({ agreed: true, pin: '415' });
  });

  it('asks for keys of the template that every object has', () => {
    const script = interview({ constructor: null });
    expect(script.opening().parts[0]).toBe('What is your constructor?');
    expect(script.values()).toEqual({});
  });
});
