import { whoAnswered } from '../../src/voice/session/reducer/voicemail.js';
import { introducedWorld, type World } from '../support/session-world';

const lines = (world: World) => world.of('say').map(({ line }) => line);
const ends = (world: World) => world.of('end').map(({ reason }) => reason);

describe('voicemail of a session', () => {
  const leaves = { voicemail: { action: 'leave_message' as const, hasMessage: true } };

  /** A machine that never stops talking. */
  function endless(world: World, ms: number): void {
    world.happens({ type: 'voice_started', startMs: world.now(), streamMs: world.now() });
    world.pass(ms);
  }

  it('a greeting that does not end is talked over after 40 s', () => {
    const world = introducedWorld(leaves);
    world.happens({ type: 'answered_by', who: 'voicemail' });
    endless(world, 39_900);
    expect(lines(world)).toEqual([]);
    world.pass(200);
    expect(lines(world)).toEqual(['voicemail_message']);
  });

  it.each([
    ['the carrier detected it', 1_000, 'carrier'],
    ['its tone was heard', 1_000, 'tone'],
    ['only the model has heard it', 4_000, 'model'],
  ])('the message is left after quiet: %s', (_, quietMs, by) => {
    const world = introducedWorld(leaves);
    if (by === 'carrier') world.happens({ type: 'answered_by', who: 'voicemail' });
    else {
      const call = { replyId: 'reply-1', toolCallId: 'tool-1', name: 'answering_machine', arguments: {} };
      world.happens({ type: 'tool_called', ...call });
    }
    if (by === 'tone') world.happens({ type: 'tone_heard', streamMs: world.now() });
    world.pass(quietMs - 60);
    expect(lines(world)).toEqual([]);
    world.pass(200);
    expect(lines(world)).toEqual(['voicemail_message']);
    world.pass(5_000);
    expect(ends(world)).toEqual(['voicemail']);
  });

  it('a tone before a greeting does not count as the tone at its end', () => {
    const world = introducedWorld(leaves);
    world.happens({ type: 'tone_heard', streamMs: world.now() });
    world.happens({ type: 'machine_heard' });
    world.pass(500);
    world.speaks(1_000);
    world.hushes();
    world.pass(3_000);
    expect(lines(world)).toEqual([]);
    world.happens({ type: 'tone_heard', streamMs: world.now() });
    world.pass(900);
    expect(lines(world)).toEqual([]);
    world.pass(200);
    expect(lines(world)).toEqual(['voicemail_message']);
  });

  it('voice that ends with the tone leaves it valid, voice that continues after it does not', () => {
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
      world.hushes();
      world.pass(quietMs - 700);
      expect(lines(world)).toEqual([]);
      world.pass(200);
      expect(lines(world)).toEqual(['voicemail_message']);
    }
  });

  it('answered_by is stored when it is known, and again when it changes', () => {
    const world = introducedWorld(leaves);
    const known = () => world.of('store_answered_by').map(({ who }) => who);
    expect(known()).toEqual([]);
    world.says('Yes.');
    world.says('Yes.');
    expect(known()).toEqual(['human']);
    world.happens({ type: 'answered_by', who: 'voicemail' });
    expect(known()).toEqual(['human', 'voicemail']);
    const byEar = introducedWorld();
    byEar.happens({ type: 'machine_heard' });
    expect(byEar.of('store_answered_by')).toMatchObject([{ who: 'voicemail' }]);
  });

  it('an inbound call has no answered_by and meets no answering machine', () => {
    const world = introducedWorld({ isInbound: true });
    world.says('Yes.');
    world.happens({ type: 'machine_heard' });
    const call = { replyId: 'reply-1', toolCallId: 'tool-1', name: 'answering_machine', arguments: {} };
    world.happens({ type: 'tool_called', ...call });
    expect(world.of('store_answered_by')).toEqual([]);
    expect(whoAnswered(world.state())).toBeUndefined();
    expect(ends(world)).toEqual([]);
  });

  it('the carrier’s word counts as the answer even when the call was ending', () => {
    const world = introducedWorld();
    world.happens({ type: 'tool_finished', endsCall: true, ok: true });
    world.happens({ type: 'answered_by', who: 'voicemail' });
    expect(whoAnswered(world.state())).toBe('voicemail');
    expect(ends(world)).toEqual([]);
  });
});
