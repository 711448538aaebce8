import { answeredByOf } from '../../src/voice/session/reducer/voicemail.js';
import { personIn } from '../../src/voice/session/reducer/resume.js';
import { introducedWorld, openWorld, type World } from '../support/session-world';

const spokenLines = (world: World) => world.of('say').map(({ phrase }) => phrase);
const ends = (world: World) => world.of('end').map(({ reason }) => reason);

describe('voicemail in a session', () => {
  const leaves = { voicemail: { action: 'leave_message' as const, hasMessage: true } };

  /** An answering machine that never stops talking. */
  function greetWithoutEnd(world: World, ms: number): void {
    world.happens({ type: 'voice_started', startMs: world.now(), streamMs: world.now() });
    world.pass(ms);
  }

  it('gets the message over its greeting if that takes more than 40 s', () => {
    const world = introducedWorld(leaves);
    world.happens({ type: 'answered_by', who: 'voicemail' });
    greetWithoutEnd(world, 39_900);
    expect(spokenLines(world)).toEqual([]);
    world.pass(200);
    expect(spokenLines(world)).toEqual(['voicemail_message']);
  });

  it.each([
    ['the carrier detected it', 1_000, 'carrier'],
    ['its tone was detected', 1_000, 'tone'],
    ['only the model detected it', 4_000, 'model'],
  ])('gets the message after a period of quiet if %s', (_, quietMs, by) => {
    const world = introducedWorld(leaves);
    if (by === 'carrier') world.happens({ type: 'answered_by', who: 'voicemail' });
    else {
      const call = { replyId: 'reply-1', toolCallId: 'tool-1', name: 'answering_machine', arguments: {} };
      world.happens({ type: 'tool_called', ...call });
    }
    if (by === 'tone') world.happens({ type: 'tone_heard', streamMs: world.now() });
    world.pass(quietMs - 60);
    expect(spokenLines(world)).toEqual([]);
    world.pass(200);
    expect(spokenLines(world)).toEqual(['voicemail_message']);
    world.pass(5_000);
    expect(ends(world)).toEqual(['voicemail']);
  });

  it('ignores a tone before the greeting', () => {
    const world = introducedWorld(leaves);
    world.happens({ type: 'tone_heard', streamMs: world.now() });
    world.happens({ type: 'machine_heard' });
    world.pass(500);
    world.speaks(1_000);
    world.fallsSilent();
    world.pass(3_000);
    expect(spokenLines(world)).toEqual([]);
    world.happens({ type: 'tone_heard', streamMs: world.now() });
    world.pass(900);
    expect(spokenLines(world)).toEqual([]);
    world.pass(200);
    expect(spokenLines(world)).toEqual(['voicemail_message']);
  });

  it('accepts a tone at the end of the voice, but not in the middle of it', () => {
    for (const [goesOnMs, quietMs] of [
      [100, 1_000],
      [900, 4_000],
    ] as const) {
      const world = introducedWorld(leaves);
      world.happens({ type: 'machine_heard' });
      world.speaks(400);
      world.happens({ type: 'tone_heard', streamMs: world.now() });
      world.happens({ type: 'voice_started', startMs: world.now() - 400, streamMs: world.now() });
      world.pass(goesOnMs);
      world.happens({ type: 'voice_paused', endMs: world.now(), lastVoiceAtMs: world.now() });
      world.fallsSilent();
      world.pass(quietMs - 700);
      expect(spokenLines(world)).toEqual([]);
      world.pass(200);
      expect(spokenLines(world)).toEqual(['voicemail_message']);
    }
  });

  describe('that the carrier reports late', () => {
    /** The person answers, and hears the agent to its end. */
    function exchange(world: World): void {
      world.says('Yes, please.');
      world.pass(8_000);
    }

    it.each(['hang_up', 'leave_message'] as const)('is ignored after two answers of a person (%s)', (action) => {
      const world = introducedWorld({ voicemail: { action, hasMessage: true } });
      exchange(world);
      exchange(world);
      world.happens({ type: 'answered_by', who: 'voicemail' });
      exchange(world);
      expect(ends(world)).toEqual([]);
      expect(spokenLines(world)).toEqual([]);
      expect(answeredByOf(world.state())).toBe('human');
    });

    it('counts after one answer, which may be a greeting with a pause', () => {
      const world = introducedWorld();
      exchange(world);
      world.happens({ type: 'answered_by', who: 'voicemail' });
      expect(ends(world)).toEqual(['voicemail']);
      expect(answeredByOf(world.state())).toBe('voicemail');
    });

    it('counts after a greeting of many parts, because none of them answers the agent', () => {
      const world = introducedWorld();
      for (const part of ['Hello.', 'Nobody is here.', 'Please leave a message.']) world.says(part);
      world.happens({ type: 'answered_by', who: 'voicemail' });
      expect(ends(world)).toEqual(['voicemail']);
    });
  });

  it('stores answered_by when it is known and when it changes', () => {
    const world = introducedWorld(leaves);
    const known = () => world.of('store_answered_by').map(({ who }) => who);
    expect(known()).toEqual([]);
    world.says('Yes.');
    world.says('Yes.');
    expect(known()).toEqual(['human']);
    world.happens({ type: 'answered_by', who: 'voicemail' });
    expect(known()).toEqual(['human', 'voicemail']);
    const detected = introducedWorld();
    detected.happens({ type: 'machine_heard' });
    expect(detected.of('store_answered_by')).toMatchObject([{ who: 'voicemail' }]);
  });

  it('is not detected in an inbound call, which has no answered_by', () => {
    const world = introducedWorld({ isInbound: true });
    world.says('Yes.');
    world.happens({ type: 'machine_heard' });
    const call = { replyId: 'reply-1', toolCallId: 'tool-1', name: 'answering_machine', arguments: {} };
    world.happens({ type: 'tool_called', ...call });
    expect(world.of('store_answered_by')).toEqual([]);
    expect(answeredByOf(world.state())).toBeUndefined();
    expect(ends(world)).toEqual([]);
  });

  it('is stored from the carrier’s report even if the call is ending', () => {
    const world = introducedWorld();
    world.happens({ type: 'tool_finished', endsCall: true, ok: true });
    world.happens({ type: 'answered_by', who: 'voicemail' });
    expect(answeredByOf(world.state())).toBe('voicemail');
    expect(ends(world)).toEqual([]);
  });

  describe('after another engine took over', () => {
    const agent = (text: string) => ({ speaker: 'agent' as const, text, startMs: 0, endMs: 900 });
    const caller = (text: string) => ({ speaker: 'caller' as const, text, startMs: 0, endMs: 900 });
    const turns = [agent('Hello.'), caller('Hi.'), agent('Is ten fine?'), caller('Yes.'), agent('Good.')];

    it('is not believed if a person has answered twice before', () => {
      const world = openWorld({ takesOver: 'rest', introduced: true, person: personIn(turns) });
      expect(answeredByOf(world.state())).toBe('human');
      world.happens({ type: 'line_opened' });
      world.happens({ type: 'answered_by', who: 'voicemail' });
      expect([ends(world), answeredByOf(world.state())]).toEqual([[], 'human']);
      expect(world.of('store_answered_by')).toEqual([]);
    });

    it('counts only turns that follow words of the agent heard to their end as answers', () => {
      expect(personIn(turns)).toEqual({ personTurns: 2, answers: 2, agentHeard: true });
      const interrupted = [
        agent('Hello, this is (interrupted)'),
        caller('Who?'),
        caller('Hello?'),
        agent('The clinic.'),
      ];
      expect(personIn(interrupted)).toEqual({ personTurns: 2, answers: 0, agentHeard: true });
      expect(personIn([])).toEqual({ personTurns: 0, answers: 0, agentHeard: false });
    });
  });
});
