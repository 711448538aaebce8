import { whoAnswered } from '../../src/voice/session/reducer/voicemail.js';
import { openWorld, type World } from '../support/session-world';

const PROVIDER = { capabilities: { endsTurns: 'engine', startsReplies: 'provider' } } as const;

/** A session whose provider hears turns and answers them; the agent has introduced itself. */
function talking(setup: Parameters<typeof openWorld>[0] = {}): World {
  const world = openWorld({ ...PROVIDER, ...setup });
  world.happens({ type: 'line_opened' });
  world.pass(5_000);
  return world;
}

const asked = (world: World) => world.of('request_reply').map(({ replyId }) => replyId);
const cancelled = (world: World) => world.of('cancel_reply').map(({ replyId }) => replyId);
const lines = (world: World) => world.of('say').map(({ line }) => line);
const mayAnswer = (world: World) => world.of('let_provider_answer').map(({ answers }) => answers);

function turn(world: World, ms = 600): void {
  world.happens({ type: 'voice_started', startMs: world.now(), streamMs: world.now() });
  world.pass(ms);
  world.happens({ type: 'turn_over', endMs: world.now() });
}

function answers(world: World, replyId: string, ms = 1_000): void {
  world.happens({ type: 'reply_begun', replyId });
  world.happens({ type: 'item_audio', itemId: `${replyId}.item`, replyId, ms });
  world.happens({ type: 'reply_heard', replyId, times: { startedMs: world.now() } });
}

function done(world: World, replyId: string): void {
  world.happens({ type: 'item_whole', itemId: `${replyId}.item` });
  world.happens({ type: 'reply_done', replyId });
}

describe('a session whose provider starts replies', () => {
  it('asks for the first reply and for none after a turn: the provider answers by itself', () => {
    const world = talking();
    expect(world.of('tell_model')).toEqual([]);
    expect(asked(world)).toHaveLength(1);
    turn(world);
    answers(world, 'own');
    done(world, 'own');
    world.pass(2_000);
    expect(asked(world)).toHaveLength(1);
    expect(world.of('close_item').at(-1)).toMatchObject({ itemId: 'own.item', kind: 'reply', complete: true });
  });

  it('stores the words of a turn whenever they come, also when the session is over', () => {
    const world = talking();
    turn(world);
    answers(world, 'own');
    world.happens({ type: 'turn_words', text: 'Hello?', startMs: 5_000, endMs: 5_600 });
    world.happens({ type: 'stopped' });
    world.happens({ type: 'turn_words', text: 'Good bye.', startMs: 6_000, endMs: 6_600 });
    expect(world.stored().filter((line) => line.startsWith('caller: '))).toEqual([
      'caller: Hello?',
      'caller: Good bye.',
    ]);
  });

  it('takes a reply back when the caller speaks over it, before it tells how much was heard', () => {
    const world = talking();
    turn(world);
    answers(world, 'own', 9_000);
    world.pass(1_000);
    world.happens({ type: 'voice_started', startMs: world.now(), streamMs: world.now() });
    expect(cancelled(world)).toEqual(['own']);
    const order = world.commands.map(({ command }) => command.type).filter((type) => /cancel|clear|close/.test(type));
    expect(order.slice(-3)).toEqual(['cancel_reply', 'clear', 'close_item']);
  });

  it('takes a reply back that is being made and was not heard yet when the caller goes on', () => {
    const world = talking();
    turn(world);
    world.happens({ type: 'reply_begun', replyId: 'own' });
    turn(world);
    expect(cancelled(world)).toEqual(['own']);
  });

  it('lets what is on the line be heard before the answer to what tools brought, which waits for the reply', () => {
    const world = talking();
    turn(world);
    answers(world, 'own', 3_000);
    world.happens({ type: 'tool_called', replyId: 'own', toolCallId: 'a', name: 'look_up', arguments: {} });
    world.happens({ type: 'reply_wanted' });
    expect(asked(world)).toHaveLength(1);
    done(world, 'own');
    world.pass(100);
    expect(asked(world)).toHaveLength(2);
    expect(world.of('clear')).toEqual([]);
  });

  it('asks for no reply while the caller speaks, who is answered after it', () => {
    const world = talking();
    world.happens({ type: 'voice_started', startMs: world.now(), streamMs: world.now() });
    world.presses('1#');
    world.happens({ type: 'reply_wanted' });
    world.pass(1_000);
    expect(asked(world)).toHaveLength(1);
    expect(world.of('tell_model').at(-1)).toMatchObject({ digits: '1#' });
  });

  it('does not take a caller who waits for tools for silent until all have answered', () => {
    const world = talking();
    turn(world);
    world.happens({ type: 'reply_begun', replyId: 'own' });
    world.happens({ type: 'tool_called', replyId: 'own', toolCallId: 'a', name: 'look_up', arguments: {} });
    world.happens({ type: 'reply_done', replyId: 'own' });
    world.happens({ type: 'tool_called', replyId: 'own', toolCallId: 'b', name: 'look_up', arguments: {} });
    world.happens({ type: 'tool_called', replyId: 'own', toolCallId: 'c', name: 'look_up', arguments: {} });
    expect(world.state().provider.toolsAtWork).toBe(3);
    expect(world.state().timers.silence).toBeUndefined();
    world.pass(1_600);
    expect(world.state().provider.toolsAtWork).toBe(0);
    expect(world.state().timers.silence).toBeDefined();
  });

  it('hangs up on a machine at once where it is to leave no message', () => {
    const world = talking();
    world.happens({ type: 'answered_by', who: 'voicemail' });
    expect(world.of('end')).toEqual([{ type: 'end', reason: 'voicemail' }]);
    expect(world.of('say')).toEqual([]);
  });

  it('asks for a reply that the provider owes and does not begin', () => {
    const world = talking();
    turn(world);
    world.happens({ type: 'reply_missed' });
    expect(asked(world)).toHaveLength(2);
  });

  it('forbids the provider to answer while replies are scarce, asks for each then, and allows it again', () => {
    const world = talking();
    for (let count = 0; count < 25; count += 1) {
      world.happens({ type: 'reply_begun', replyId: `own-${count}` });
      world.happens({ type: 'reply_done', replyId: `own-${count}` });
    }
    expect(mayAnswer(world)).toEqual([false]);
    turn(world);
    expect(asked(world)).toHaveLength(2);
    world.pass(4_000);
    turn(world, 60_000);
    expect(mayAnswer(world)).toEqual([false, true]);
  });

  it('asks for no more replies than there is room for, and answers the last turn when there is', () => {
    const world = talking();
    for (let count = 0; count < 32; count += 1) {
      world.happens({ type: 'reply_begun', replyId: `own-${count}` });
      world.happens({ type: 'reply_done', replyId: `own-${count}` });
    }
    for (let count = 0; count < 5; count += 1) turn(world, 200);
    expect(asked(world)).toHaveLength(1);
    world.pass(20_000);
    expect(asked(world).length).toBeGreaterThan(1);
  });

  it('refuses a reply that the provider begins when the end is decided', () => {
    const world = talking({ voicemail: { action: 'leave_message', hasMessage: true } });
    world.happens({ type: 'answered_by', who: 'voicemail' });
    world.happens({ type: 'reply_begun', replyId: 'own' });
    expect(cancelled(world).at(-1)).toBe('own');
    expect(mayAnswer(world)).toEqual([false]);
  });

  it('goes on when the provider is back, once', () => {
    const world = talking();
    turn(world);
    answers(world, 'own', 400);
    world.happens({ type: 'item_whole', itemId: 'own.item' });
    world.happens({ type: 'provider_lost' });
    world.pass(300);
    expect(asked(world)).toHaveLength(1);
    world.happens({ type: 'provider_back' });
    world.happens({ type: 'provider_back' });
    expect(asked(world)).toHaveLength(2);
  });

  it('waits with what is told before the end until nobody speaks', () => {
    const world = talking();
    turn(world);
    answers(world, 'own', 3_000);
    done(world, 'own');
    world.happens({ type: 'ending_soon', secondsLeft: 20 });
    expect(world.of('tell_model')).toHaveLength(1);
    expect(asked(world)).toHaveLength(1);
    world.pass(3_100);
    expect(asked(world)).toHaveLength(2);
  });

  it('asks for nothing more after a transfer', () => {
    const world = talking();
    world.happens({ type: 'tool_called', replyId: 'own', toolCallId: 'a', name: 'transfer_call', arguments: {} });
    world.happens({ type: 'tool_finished', endsCall: true, ok: true });
    world.happens({ type: 'reply_wanted' });
    turn(world);
    world.pass(60_000);
    expect(asked(world)).toHaveLength(1);
    expect(world.of('say')).toEqual([]);
  });

  it('tells how long a caller who pressed keys waited for the answer', () => {
    const world = talking();
    world.presses('1#');
    world.pass(1_000);
    expect(world.of('store_latency').at(-1)).toMatchObject({ sinceMs: 5_000, knownMs: 5_000, atMs: 5_300 });
  });

  it('takes a far end that was told to speak or press keys for a person', () => {
    const keyed = talking();
    expect(whoAnswered(keyed.state())).toBe('unknown');
    keyed.presses('1#');
    expect(whoAnswered(keyed.state())).toBe('human');
    const spoke = talking();
    spoke.happens({ type: 'turn_words', text: 'Hello?', startMs: 5_000, endMs: 5_600 });
    expect(whoAnswered(spoke.state())).toBe('human');
  });

  it('makes an introduction again that was not heard before it asks into silence', () => {
    const world = openWorld(PROVIDER);
    world.happens({ type: 'line_opened' });
    world.pass(1_000);
    turn(world, 400);
    world.happens({ type: 'reply_begun', replyId: 'own' });
    world.happens({ type: 'reply_done', replyId: 'own' });
    world.pass(11_000);
    expect(lines(world)).toEqual([]);
    expect(asked(world)).toHaveLength(2);
    expect(world.state().introduction.heard).toBe(false);
  });

  it('counts an item without marks as heard no further, so that the provider forgets the rest', () => {
    const world = openWorld(PROVIDER, { marks: false });
    world.happens({ type: 'line_opened' });
    world.pass(3_300);
    expect(world.of('close_item')).toEqual([]);
    world.pass(3_100);
    expect(world.of('close_item').at(-1)).toMatchObject({ kind: 'introduction', playedMs: 0, complete: false });
  });

  it('gives a last word 20 s, and a message to a machine 60 s', () => {
    const closingAtMs = (world: World) => (world.state().timers.closing ?? 0) - world.now();
    const silent = talking();
    silent.pass(10_000);
    silent.pass(30_000 - (silent.now() - silent.state().silence.quietSinceMs));
    expect(lines(silent).at(-1)).toBe('silent_goodbye');
    expect(closingAtMs(silent)).toBe(20_000);
    const machine = talking({ voicemail: { action: 'leave_message', hasMessage: true } });
    machine.happens({ type: 'answered_by', who: 'voicemail' });
    machine.pass(1_000);
    expect(lines(machine)).toEqual(['voicemail_message']);
    expect(closingAtMs(machine)).toBe(60_000);
  });
});

describe('one moment, of a session whose provider starts replies', () => {
  it('is said to a caller who waits, and not when the provider has nothing to say', () => {
    const waits = talking();
    turn(waits);
    waits.pass(1_600);
    expect(lines(waits)).toEqual(['one_moment']);
    const empty = talking();
    turn(empty);
    empty.happens({ type: 'reply_begun', replyId: 'own' });
    empty.happens({ type: 'reply_done', replyId: 'own' });
    empty.pass(1_600);
    expect(lines(empty)).toEqual([]);
  });

  it('is said 1.5 s after the provider went away', () => {
    const world = talking();
    world.happens({ type: 'provider_lost' });
    world.pass(1_400);
    expect(lines(world)).toEqual([]);
    world.pass(200);
    expect(lines(world)).toEqual(['one_moment']);
  });

  it('is not said twice in a row, however long the caller waits and for whatever reason', () => {
    const world = talking();
    turn(world);
    world.pass(4_000);
    world.happens({ type: 'provider_lost' });
    world.pass(3_000);
    world.happens({ type: 'tool_called', replyId: 'own', toolCallId: 'a', name: 'look_up', arguments: {} });
    world.pass(20);
    world.happens({ type: 'provider_lost' });
    world.pass(4_000);
    expect(lines(world)).toEqual(['one_moment']);
    answers(world, 'own');
    done(world, 'own');
    world.pass(2_000);
    turn(world);
    world.pass(1_600);
    expect(lines(world)).toEqual(['one_moment', 'one_moment']);
  });
});
