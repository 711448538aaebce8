import { SESSION_POLICY } from '../../src/voice/session/reducer/policy.js';
import type { SessionSetup } from '../../src/voice/session/reducer/state.js';
import { answeredByOf } from '../../src/voice/session/reducer/voicemail.js';
import { introducedWorld, openWorld, type World } from '../support/session-world';

const SCRIPTED: Partial<SessionSetup> = { capabilities: { endsTurns: 'engine', completesDigits: 'engine' } };
const { minGapMs, pauseMs } = SESSION_POLICY.dtmf;
const { lingerMs, hangUpWithinMs, lastSentenceMs, lastLineWithinMs } = SESSION_POLICY.closing;

const tasks = (world: World) => world.of('request_reply').map(({ task }) => task);
const storedDigits = (world: World) => world.stored().filter((turn) => turn.startsWith('caller: (keys: '));
const ends = (world: World) => world.of('end').map(({ reason }) => reason);

/** Lets the caller speak; the engine then returns this text for the turn. */
function says(world: World, text: string, holds?: 'no_words' | 'greeting'): void {
  const startMs = world.now();
  world.speaks(600);
  const voice = { startMs, endMs: world.now() };
  world.fallsSilent();
  const certain = holds === undefined ? {} : { holds };
  world.happens({ type: 'turn_ended', text, streamMs: world.now(), voice, ...certain });
}

/** Makes the engine decide that these digits are a complete answer. */
function enters(world: World, digits: string): void {
  world.presses(digits);
  world.happens({ type: 'dtmf_entered' });
}

function goodbye(world: World, goodbyeBy: 'agent' | 'caller'): void {
  says(world, 'yes');
  const replyId = world.of('request_reply').at(-1)?.replyId ?? '';
  world.happens({ type: 'reply_is_last', replyId, itemId: `${replyId}.0`, goodbyeBy });
}

/** Returns the time from the end of the agent's goodbye to the end of the session. */
function lingerTime(world: World): number {
  const heard = world.commands.findLast(({ command }) => command.type === 'close_item');
  const end = world.commands.find(({ command }) => command.type === 'end');
  return (end?.atMs ?? Number.NaN) - (heard?.atMs ?? Number.NaN);
}

describe('a reply of a scripted engine', () => {
  it('has a task: introduce, answer, digits, wrap_up or resume', () => {
    const world = openWorld(SCRIPTED);
    world.happens({ type: 'line_opened' });
    world.pass(4_000);
    says(world, 'yes');
    world.pass(4_000);
    enters(world, '1');
    world.pass(4_000);
    world.happens({ type: 'ending_soon', secondsLeft: 20 });
    expect(tasks(world)).toEqual(['introduce', 'answer', 'digits', 'wrap_up']);
    const back = openWorld({ ...SCRIPTED, resumed: true, introduced: true });
    back.happens({ type: 'line_opened' });
    expect(tasks(back)).toEqual(['resume']);
  });

  it('keeps its task while it waits for the reply budget', () => {
    const world = introducedWorld({
      ...SCRIPTED,
      policy: { ...SESSION_POLICY, replies: { atStart: 1, atOnce: 1, oneMoreAfterMs: 10_000, reserve: 0 } },
    });
    enters(world, '1');
    expect(tasks(world)).toEqual(['introduce']);
    world.pass(7_000);
    expect(tasks(world)).toEqual(['introduce', 'digits']);
  });

  it('does not start while the caller speaks, and answers the caller afterwards', () => {
    const world = openWorld(SCRIPTED);
    world.speaks(300);
    world.happens({ type: 'line_opened' });
    expect(tasks(world)).toEqual([]);
    world.fallsSilent();
    world.happens({ type: 'turn_ended', text: 'hello', streamMs: world.now(), holds: 'greeting' });
    expect(tasks(world)).toEqual(['introduce']);
  });
});

describe('DTMF digits that the engine interprets', () => {
  it('are complete as soon as the engine says so', () => {
    const world = introducedWorld(SCRIPTED);
    world.presses('41');
    expect(tasks(world)).toEqual(['introduce']);
    enters(world, '5');
    expect(tasks(world)).toEqual(['introduce', 'digits']);
    expect(storedDigits(world)).toEqual(['caller: (keys: 4 1 5)']);
  });

  it('are answered at most every 1.5 s, and digits in between are combined', () => {
    const world = introducedWorld(SCRIPTED);
    for (const key of '12') enters(world, key);
    world.pass(100);
    enters(world, '1');
    expect(storedDigits(world)).toEqual(['caller: (keys: 1)']);
    world.pass(minGapMs);
    expect(storedDigits(world)).toEqual(['caller: (keys: 1)', 'caller: (keys: 2 1)']);
    expect(tasks(world)).toEqual(['introduce', 'digits', 'digits']);
  });

  it('count during the introduction, which is not repeated', () => {
    const world = openWorld(SCRIPTED);
    world.happens({ type: 'line_opened' });
    world.pass(800);
    enters(world, '1');
    expect(world.of('clear')).toHaveLength(1);
    world.pass(1_000);
    expect(tasks(world)).toEqual(['introduce', 'digits']);
    says(world, 'yes');
    expect(tasks(world).at(-1)).toBe('answer');
  });

  it('without an answer do not interrupt the agent, but are stored', () => {
    const world = introducedWorld(SCRIPTED);
    says(world, 'yes');
    world.pass(1_000);
    world.presses('##');
    expect(world.of('clear')).toEqual([]);
    world.pass(pauseMs + 100);
    expect(storedDigits(world)).toEqual(['caller: (keys: # #)']);
    expect(tasks(world)).toEqual(['introduce', 'answer']);
  });

  it('yield to words but not to noise', () => {
    const world = introducedWorld(SCRIPTED);
    world.presses('4');
    says(world, 'seven');
    world.pass(pauseMs);
    expect(world.stored().slice(-2)).toEqual(['caller: (keys: 4)', 'caller: seven']);
    expect(tasks(world)).toEqual(['introduce', 'answer']);
    world.presses('41');
    says(world, '(speech)', 'no_words');
    enters(world, '5');
    expect(tasks(world)).toEqual(['introduce', 'answer', 'digits']);
    expect(world.stored().slice(-2)).toEqual(['caller: (speech)', 'caller: (keys: 4 1 5)']);
  });
});

describe('the goodbye of a session', () => {
  it('waits 1.5 s for the remote party to hang up, or 4 s if that party said goodbye', () => {
    for (const [by, ms] of [
      ['agent', lingerMs],
      ['caller', hangUpWithinMs],
    ] as const) {
      const world = introducedWorld(SCRIPTED);
      goodbye(world, by);
      world.pass(20_000);
      expect(ends(world)).toEqual(['agent_hangup']);
      expect(lingerTime(world)).toBe(ms);
    }
  });

  it('waits for the end of a short sentence', () => {
    const world = introducedWorld(SCRIPTED);
    goodbye(world, 'agent');
    world.pass(4_000);
    world.happens({ type: 'voice_started', startMs: world.now() - 160, streamMs: world.now() });
    world.pass(20_000);
    expect(lingerTime(world)).toBe(lingerMs + lastSentenceMs);
  });

  it('cannot be interrupted and is the last utterance', () => {
    const world = introducedWorld(SCRIPTED);
    goodbye(world, 'agent');
    world.pass(500);
    says(world, 'wait');
    enters(world, '1');
    world.happens({ type: 'ending_soon', secondsLeft: 20 });
    world.pass(20_000);
    expect(world.of('clear')).toEqual([]);
    expect(tasks(world)).toEqual(['introduce', 'answer']);
    expect(ends(world)).toEqual(['agent_hangup']);
  });

  it('ends the session even if it cannot be synthesized or is never played', () => {
    const mute = introducedWorld(SCRIPTED);
    goodbye(mute, 'agent');
    const replyId = mute.of('request_reply').at(-1)?.replyId ?? '';
    mute.happens({ type: 'reply_failed', replyId, part: 'voice', message: 'the text-to-speech provider is mute' });
    expect(ends(mute)).toEqual(['agent_hangup']);
    const never = introducedWorld(SCRIPTED, { afterMs: 1_000 });
    says(never, 'yes');
    const last = never.of('request_reply').at(-1)?.replyId ?? '';
    never.happens({ type: 'reply_is_last', replyId: last, itemId: 'never', goodbyeBy: 'agent' });
    never.pass(lastLineWithinMs + 100);
    expect(ends(never)).toEqual(['agent_hangup']);
  });
});

describe('an answering machine that the engine detects', () => {
  const leaves = { ...SCRIPTED, voicemail: { action: 'leave_message' as const, hasMessage: true } };

  it('gets its message 1 s after the tone', () => {
    const world = introducedWorld(leaves);
    world.happens({ type: 'tone_heard', streamMs: world.now() });
    world.happens({ type: 'machine_heard' });
    world.pass(900);
    expect(world.of('say')).toEqual([]);
    world.pass(200);
    expect(world.of('say')).toMatchObject([{ phrase: 'voicemail_message' }]);
    expect(answeredByOf(world.state())).toBe('voicemail');
  });

  it('is hung up on at once', () => {
    const world = introducedWorld(SCRIPTED);
    world.happens({ type: 'machine_heard' });
    expect(ends(world)).toEqual(['voicemail']);
  });

  it.each([
    ['answers', (world: World) => says(world, 'yes')],
    ['presses DTMF digits', (world: World) => world.presses('1')],
    ['is reported by the carrier', (world: World) => world.happens({ type: 'answered_by', who: 'human' })],
  ])('is ruled out when a person %s', (_, shows) => {
    const world = introducedWorld(SCRIPTED);
    shows(world);
    world.happens({ type: 'machine_heard' });
    expect(ends(world)).toEqual([]);
  });

  it('is still possible after a greeting or speech without words', () => {
    const world = introducedWorld(SCRIPTED);
    says(world, 'hello', 'greeting');
    says(world, '(speech)', 'no_words');
    expect(answeredByOf(world.state())).toBe('unknown');
    says(world, 'yes');
    expect(answeredByOf(world.state())).toBe('human');
  });
});

describe('a turn that ends during the answer to the previous one', () => {
  it.each([
    ['interrupts that answer', (world: World) => says(world, 'no')],
    [
      'was spoken before that answer',
      (world: World) =>
        world.happens({ type: 'turn_ended', text: 'no', streamMs: world.now(), voice: { startMs: 10, endMs: 900 } }),
    ],
  ])('gets an answer in place of the previous one if it %s', (_, saysMore) => {
    const world = introducedWorld(SCRIPTED);
    says(world, 'yes');
    world.pass(1_000);
    expect(world.isPlaying()).toBe(true);
    saysMore(world);
    expect(world.of('clear')).toHaveLength(1);
    expect(world.stored().filter((turn) => turn.startsWith('caller: '))).toEqual(['caller: yes', 'caller: no']);
    expect(tasks(world)).toEqual(['introduce', 'answer', 'answer']);
  });
});

describe('a turn after a noise', () => {
  it('waits for slow STT, although the noise had no words', () => {
    const world = introducedWorld();
    world.speaks(300);
    world.fallsSilent();
    world.happens({ type: 'recogniser_alive' });
    world.pass(500);
    const discarded = world.of('discard_turn').length;
    world.speaks(1_500);
    world.fallsSilent();
    world.pass(2_400);
    expect(world.of('discard_turn')).toHaveLength(discarded);
    world.happens({ type: 'turn_may_end', text: 'Tomorrow at ten.', streamMs: world.now() });
    expect(world.stored()).toContain('caller: Tomorrow at ten.');
    expect(world.of('request_reply').at(-1)?.confirmed).toBe(true);
  });
});

describe('a voicemail report of the carrier', () => {
  it('counts even after an answer', () => {
    const world = introducedWorld(SCRIPTED);
    says(world, 'yes');
    world.happens({ type: 'answered_by', who: 'voicemail' });
    expect(ends(world)).toEqual(['voicemail']);
    expect(answeredByOf(world.state())).toBe('voicemail');
  });
});

describe('turns with voice times from the engine', () => {
  it('keep these times even if the next turn has begun', () => {
    const world = introducedWorld(SCRIPTED);
    const startMs = world.now();
    world.speaks(600);
    const voice = { startMs, endMs: world.now() };
    world.fallsSilent();
    world.pass(300);
    world.speaks(400);
    world.happens({ type: 'turn_ended', text: 'one', streamMs: world.now(), voice });
    expect(world.of('store_turn').at(-1)).toMatchObject({ text: 'one', ...voice });
    expect(world.state().turns.voice).toMatchObject({ startMs: voice.endMs });
  });

  it('are stored if they end with the call', () => {
    const world = introducedWorld(SCRIPTED);
    world.happens({ type: 'stopped' });
    world.happens({ type: 'turn_ended', text: 'yes', streamMs: world.now(), voice: { startMs: 10, endMs: 900 } });
    expect(world.stored().at(-1)).toBe('caller: yes');
    expect(tasks(world)).toEqual(['introduce']);
  });
});

describe('an item with a late last piece of audio', () => {
  it('is given up a grace period after that piece', () => {
    const world = openWorld(SCRIPTED, { marks: false, speechMs: 1_000, afterMs: 60_000 });
    world.happens({ type: 'line_opened' });
    const replyId = world.of('request_reply')[0]?.replyId ?? '';
    const item = { itemId: `${replyId}.0`, replyId };
    world.happens({ type: 'item_audio', ...item, ms: 200 });
    world.pass(4_000);
    world.happens({ type: 'item_audio', ...item, ms: 200 });
    world.happens({ type: 'item_whole', itemId: item.itemId });
    world.pass(200 + SESSION_POLICY.playback.markGraceMs - 100);
    expect(world.of('close_item')).toEqual([]);
    world.pass(200);
    expect(world.of('close_item')).toHaveLength(1);
  });
});
