import { meaningOfTyped, type Grammar } from '../../src/voice/audio/grammar.js';
import { createOfflineEngine } from '../../src/voice/engines/offline/index.js';
import { connect, until } from '../support/engine-line';
import { introducedWorld } from '../support/session-world';

jest.setTimeout(60_000);

const TEXT: Grammar = { kind: 'digits', acceptsTypedWords: true };

describe('a typed turn', () => {
  it('interrupts the agent, is stored and answered', () => {
    const world = introducedWorld();
    world.says('Hello.');
    world.pass(1_000);
    expect(world.isPlaying()).toBe(true);
    world.happens({ type: 'turn_typed', text: 'on Monday' });
    expect(world.of('clear')).toHaveLength(1);
    expect(world.stored()).toContain('caller: on Monday');
    expect(world.of('add_to_history').at(-1)).toMatchObject({ from: 'caller', text: 'on Monday', isTyped: true });
    expect(world.of('request_reply').at(-1)).toMatchObject({ task: 'answer' });
  });

  it('does not end a spoken turn that is under way', () => {
    const world = introducedWorld();
    world.speaks(800);
    world.happens({ type: 'turn_typed', text: 'on Monday' });
    world.happens({ type: 'words', text: 'Or Tuesday.', streamMs: world.now() });
    world.happens({ type: 'turn_may_end', text: 'Or Tuesday.', streamMs: world.now() });
    world.fallsSilent();
    expect(world.stored()).toEqual(expect.arrayContaining(['caller: on Monday', 'caller: Or Tuesday.']));
  });

  it.each<[Grammar, string, object | undefined]>([
    [{ kind: 'yes-no' }, 'Yes, please!', { kind: 'yes-no', value: true }],
    [{ kind: 'yes-no' }, 'no', { kind: 'yes-no', value: false }],
    [{ kind: 'yes-no' }, 'My dog ate the newspaper.', undefined],
    [{ kind: 'yes-no' }, '…', undefined],
    [{ kind: 'digits' }, '4152', { kind: 'digits', digits: '4152' }],
    [{ kind: 'digits' }, 'four one', { kind: 'digits', digits: '41' }],
    [{ kind: 'choices', choices: ['large', 'extra large'] }, 'Extra large.', { kind: 'choice', index: 1 }],
    [{ kind: 'choices', choices: ['large'] }, 'goodbye', { kind: 'command', command: 'goodbye' }],
    [{ kind: 'digits' }, 'Ada Lovelace', undefined],
    [TEXT, ' Ada Lovelace ', { kind: 'typed', text: 'Ada Lovelace' }],
    [TEXT, '4152', { kind: 'typed', text: '4152' }],
    [TEXT, '張偉', { kind: 'typed', text: '張偉' }],
    [TEXT, 'No', { kind: 'typed', text: 'No' }],
    [TEXT, 'What a day, and then Hi Street', { kind: 'typed', text: 'What a day, and then Hi Street' }],
    [TEXT, 'Say that again, please.', { kind: 'command', command: 'repeat' }],
    [TEXT, 'Goodbye!', { kind: 'command', command: 'goodbye' }],
    [TEXT, '…', undefined],
  ])('is understood by the grammar %j: %s', (grammar, text, meaning) => {
    expect(meaningOfTyped(grammar, text)).toEqual(meaning);
  });

  it('answers the question of the offline engine', async () => {
    const factory = createOfflineEngine();
    await factory.warm();
    const line = connect(factory.create(), { outputTemplate: { confirmed: false, size: 'small|large' } });
    await line.agentTurn();
    line.type('yes');
    expect(await line.agentTurn()).toMatch(/^Thank you\. Which size/);
    line.type('large');
    expect(await line.ended).toBe('agent_hangup');
    expect((await line.stop()).outputParameters).toEqual({ confirmed: true, size: 'large' });
    expect(line.transcript.filter(({ speaker }) => speaker === 'caller').map(({ text }) => text)).toEqual([
      'yes',
      'large',
    ]);
    await factory.close();
  });

  it('answers a question of the offline engine that the agent is still asking with its introduction', async () => {
    const factory = createOfflineEngine();
    await factory.warm();
    const line = connect(factory.create(), { outputTemplate: { confirmed: false, size: 'small|large' } });
    await until(() => line.interim.some(({ text }) => text.includes('say yes')));
    line.type('yes');
    await until(() => line.transcript.some(({ text }) => text === 'yes'));
    expect(await line.agentTurn(2)).toMatch(/^Thank you\. Which size/);
    await line.stop();
    await factory.close();
  });

  it('fills a text field of the offline engine as typed, without a read-back', async () => {
    const factory = createOfflineEngine();
    await factory.warm();
    const line = connect(factory.create(), { outputTemplate: { name: null, guests: 0 }, canType: true });
    expect(await line.agentTurn()).toMatch(/What is your name\? Please type it, or say the digits\.$/);
    line.type('Zoë O’Neill-Smith, Ms.');
    expect(await line.agentTurn()).toBe('Thank you. What is your guests? Please say or enter the digits.');
    expect(line.values).toEqual({ name: 'Zoë O’Neill-Smith, Ms.' });
    line.type('four');
    expect(await line.agentTurn()).toBe('I heard 4. Is that right?');
    line.type('yes');
    expect(await line.ended).toBe('agent_hangup');
    expect((await line.stop()).outputParameters).toEqual({ name: 'Zoë O’Neill-Smith, Ms.', guests: 4 });
    await factory.close();
  });
});
