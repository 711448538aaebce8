import { SESSION_POLICY, type SessionPolicy } from '../../src/voice/session/reducer/policy.js';
import { withAgentSettings } from '../../src/voice/session/settings/agent-policy.js';
import { firstMessageOf } from '../../src/voice/session/settings/first-message.js';
import { introducedWorld, openWorld, type World } from '../support/session-world';

const policyOf = (settings: Parameters<typeof withAgentSettings>[1]): { policy: SessionPolicy } => ({
  policy: withAgentSettings(SESSION_POLICY, settings),
});
const PROVIDER = { endsTurns: 'engine', startsReplies: 'provider' } as const;
const requests = (world: World) => world.of('request_reply');
const notes = (world: World) => world.of('add_to_history').map(({ text }) => text);
const lastAutoReply = (world: World) => world.of('set_auto_reply').at(-1)?.autoReplies;

/** Lets the agent answer a turn, and waits until it speaks. */
function answering(world: World): World {
  world.says('What can you do?');
  world.pass(1_000);
  expect(world.isPlaying()).toBe(true);
  return world;
}

describe('an interruption that the agent’s settings define', () => {
  it('takes as much voice as they say', () => {
    const world = answering(introducedWorld(policyOf({ interruptionMinMs: 600 })));
    world.speaks(560);
    world.happens({ type: 'words', text: 'Mhm', streamMs: world.now() });
    expect(world.of('clear')).toEqual([]);
    world.fallsSilent();
    world.pass(400);
    world.speaks(640);
    expect(world.of('clear')).toHaveLength(1);
  });

  it('takes as many words as they say, and may happen when they are recognized', () => {
    const world = answering(introducedWorld(policyOf({ interruptionMinWords: 2 })));
    world.speaks(800);
    world.happens({ type: 'words', text: 'Yes', streamMs: world.now() });
    expect(world.of('clear')).toEqual([]);
    world.happens({ type: 'words', text: 'Yes but', streamMs: world.now() });
    expect(world.of('clear')).toHaveLength(1);
  });

  it('is not a shorter turn, which is stored and known to the model, but not answered', () => {
    const world = answering(introducedWorld(policyOf({ interruptionMinWords: 2 })));
    const before = requests(world).length;
    world.says('Mhm.', 400);
    expect(world.isPlaying()).toBe(true);
    expect(world.stored()).toContain('caller: Mhm.');
    expect(notes(world).at(-1)).toBe('Mhm.');
    expect(requests(world)).toHaveLength(before);
    world.pass(4_000);
    world.says('Yes.', 400);
    expect(requests(world).length).toBeGreaterThan(before);
  });

  it('ends with silence of the agent after a noise, if they say so', () => {
    for (const resumeAfterNoise of [true, false, undefined]) {
      const world = answering(introducedWorld(policyOf(resumeAfterNoise === undefined ? {} : { resumeAfterNoise })));
      const before = requests(world).length;
      world.speaks(300);
      world.happens({ type: 'recogniser_alive' });
      world.fallsSilent();
      world.pass(4_000);
      expect(world.of('clear')).toHaveLength(1);
      expect(requests(world)).toHaveLength(before + (resumeAfterNoise === false ? 0 : 1));
      if (resumeAfterNoise !== false) continue;
      world.pass(SESSION_POLICY.silence.repromptAfterMs);
      expect(world.of('say').at(-1)?.phrase).toBe('reprompt');
    }
  });

  it('takes longer to notice if a provider reports the end of voice late, which then answers no turn by itself', () => {
    const policy = withAgentSettings(SESSION_POLICY, { interruptionMinMs: 400 }, 500);
    const world = openWorld({ policy, capabilities: PROVIDER });
    world.happens({ type: 'line_opened' });
    expect(lastAutoReply(world)).toBe(false);
    world.pass(1_000);
    const before = requests(world).length;
    world.happens({ type: 'voice_started', startMs: world.now(), streamMs: world.now() });
    world.pass(800);
    world.happens({ type: 'turn_over', endMs: world.now() - 500 });
    expect([world.of('clear'), requests(world).length]).toEqual([[], before]);
    world.happens({ type: 'voice_started', startMs: world.now(), streamMs: world.now() });
    world.pass(920);
    expect(world.of('clear')).toHaveLength(1);
    world.happens({ type: 'turn_over', endMs: world.now() - 500 });
    expect(requests(world)).toHaveLength(before + 1);
  });
});

describe('the beginning of a conversation', () => {
  it.each([undefined, PROVIDER])('waits for the caller if the agent’s settings say so', (capabilities) => {
    const opening = { waitsForCaller: true, hasMessage: false };
    const world = openWorld({ opening, ...(capabilities === undefined ? {} : { capabilities }) });
    world.happens({ type: 'line_opened' });
    world.pass(5_000);
    expect(requests(world)).toEqual([]);
    world.pass(SESSION_POLICY.silence.repromptAfterMs);
    expect(requests(world)).toMatchObject([{ task: 'introduce' }]);
  });

  it('answers the first words of a caller who speaks first', () => {
    const world = openWorld({ opening: { waitsForCaller: true, hasMessage: false } });
    world.happens({ type: 'line_opened' });
    world.says('Hello?');
    expect(requests(world)).toMatchObject([{ task: 'introduce' }]);
    expect(notes(world)).toEqual(['Hello?']);
  });

  it('answers a caller who has spoken to an engine that failed before its first words', () => {
    const opening = { waitsForCaller: true, hasMessage: false };
    const asked = openWorld({ opening, takesOver: 'question' });
    asked.happens({ type: 'line_opened' });
    expect(requests(asked)).toMatchObject([{ task: 'introduce' }]);
    const silent = openWorld({ opening, takesOver: 'rest' });
    silent.happens({ type: 'line_opened' });
    silent.pass(5_000);
    expect(requests(silent)).toEqual([]);
  });

  it('is the agent’s first message, without the model', () => {
    const world = openWorld({ opening: { hasMessage: true } });
    world.happens({ type: 'line_opened' });
    world.pass(4_000);
    expect(world.of('say')).toMatchObject([{ phrase: 'first_message', by: 'voice' }]);
    expect(requests(world)).toEqual([]);
    world.says('Yes.');
    expect(requests(world)).toMatchObject([{ task: 'answer' }]);
  });

  it('is that message again if it was hardly heard, and the message after the words of a caller who speaks first', () => {
    const world = openWorld({ opening: { waitsForCaller: true, hasMessage: true } });
    world.happens({ type: 'line_opened' });
    world.says('Hello?');
    world.pass(1_000);
    expect(world.isPlaying()).toBe(true);
    world.says('Who is it?');
    expect(world.of('say').map(({ phrase }) => phrase)).toEqual(['first_message', 'first_message']);
    expect(requests(world)).toEqual([]);
    world.pass(4_000);
    world.says('I see.');
    expect(requests(world)).toHaveLength(1);
  });

  it('fails if the first message cannot be spoken', () => {
    const world = openWorld({ opening: { hasMessage: true } }, { speechMs: 0 });
    world.happens({ type: 'line_opened' });
    world.pass(1_000);
    expect(world.of('fail')).toHaveLength(1);
  });

  it('is requested from a provider that starts replies, which answers no turn by itself until then', () => {
    const world = openWorld({ opening: { hasMessage: true }, capabilities: PROVIDER });
    world.happens({ type: 'line_opened' });
    expect(requests(world)).toMatchObject([{ task: 'introduce' }]);
    expect(lastAutoReply(world)).toBe(false);
    world.pass(4_000);
    expect(lastAutoReply(world)).toBe(true);
  });
});

describe('the first message', () => {
  const call = { inputParameters: { name: 'Ada' }, disclosesAi: true, language: 'en-US' };
  const said = (firstMessage: string, changes: Partial<Parameters<typeof firstMessageOf>[0]> = {}) =>
    firstMessageOf({ ...call, settings: { firstMessage }, ...changes });

  it('is said word for word, with the input parameters', () => {
    expect(said('Hello {{name}}, I am an AI assistant.')).toBe('Hello Ada, I am an AI assistant.');
    expect(said('Hello {{name}}.', { disclosesAi: false })).toBe('Hello Ada.');
  });

  it.each([
    ['en-US', 'Hello, I said it again.', 'You are speaking with an AI assistant. Hello, I said it again.'],
    ['de-DE', 'Guten Tag.', 'Sie sprechen mit einem KI-Assistenten. Guten Tag.'],
    ['it-IT', 'Passo ai dettagli.', 'Sta parlando con un assistente di intelligenza artificiale. Passo ai dettagli.'],
    ['ja-JP', 'こんにちは。', 'こちらはAIアシスタントです。 こんにちは。'],
    ['xx', 'Hello.', 'You are speaking with an AI assistant. Hello.'],
  ])('begins in %s with a sentence that discloses the AI if it does not: %s', (language, message, expected) => {
    expect(said(message, { language })).toBe(expected);
  });

  it.each([
    ['de-DE', 'Hier spricht der KI-Assistent der Praxis.'],
    ['es-ES', 'Le habla un asistente de IA.'],
    ['fr-FR', 'Je suis une intelligence artificielle.'],
    ['ja-JP', 'AIアシスタントです。'],
    ['en-GB', 'This is the automated assistant of Example Inc.'],
  ])('is not changed in %s if it discloses the AI: %s', (language, message) => {
    expect(said(message, { language })).toBe(message);
  });

  it('is none if it is empty', () => {
    expect(said('{{nothing}} ')).toBeUndefined();
    expect(firstMessageOf({ ...call, settings: {} })).toBeUndefined();
  });
});
