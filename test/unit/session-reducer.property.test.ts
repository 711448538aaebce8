import fc from 'fast-check';
import type { SessionEventBody } from '../../src/voice/session/reducer/events.js';
import { SESSION_TIMERS } from '../../src/voice/session/reducer/kinds.js';
import type { SessionSetup } from '../../src/voice/session/reducer/state.js';
import { fillersInARow, openWorld, SETUP, type World, type WorldHabits } from '../support/session-world';

type Act = (world: World) => void;

const text = fc.constantFrom('Yes.', 'Yes, tomorrow.', 'Who is speaking?');
const happening = (what: SessionEventBody) => (world: World) => world.happens(what);
const streamed = (make: (streamMs: number) => SessionEventBody) => (world: World) => world.happens(make(world.now()));

/** Events in the order in which they usually happen. */
const usual: fc.Arbitrary<Act> = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 20, max: 9_000 }).map((ms) => (world: World) => world.pass(ms)) },
  { weight: 4, arbitrary: text.map((words) => (world: World) => world.says(words)) },
  {
    weight: 3,
    arbitrary: fc.integer({ min: 180, max: 2_000 }).map((ms) => (world: World) => {
      world.speaks(ms);
      world.fallsSilent();
    }),
  },
  { weight: 3, arbitrary: fc.stringMatching(/^[0-9*#]{1,5}$/).map((keys) => (world: World) => world.presses(keys)) },
);

/** Any event at any time. Events can be late, repeated or out of order. */
const wild: fc.Arbitrary<Act> = fc.oneof(
  fc.constant(streamed((streamMs) => ({ type: 'voice_started', startMs: streamMs - 160, streamMs }))),
  fc.constant((world: World) =>
    world.happens({ type: 'voice_paused', endMs: world.now() - 20, lastVoiceAtMs: world.now() - 20 }),
  ),
  fc.constant(streamed((streamMs) => ({ type: 'voice_ended', streamMs }))),
  text.map((words) => streamed((streamMs) => ({ type: 'words', text: words, streamMs }))),
  text.map((words) => streamed((streamMs) => ({ type: 'turn_may_end', text: words, streamMs }))),
  text.map((words) => streamed((streamMs) => ({ type: 'turn_ended', text: words, streamMs }))),
  fc
    .record({ endMs: fc.nat({ max: 60_000 }), holds: fc.constantFrom('no_words' as const, 'greeting' as const) })
    .map(({ endMs, holds }) =>
      streamed((streamMs) => {
        const voice = { startMs: Math.max(0, endMs - 400), endMs };
        return { type: 'turn_ended', text: '(speech)', streamMs, voice, holds };
      }),
    ),
  fc
    .constantFrom<SessionEventBody>(
      { type: 'turn_goes_on' },
      { type: 'recogniser_alive' },
      { type: 'recogniser_lost' },
      { type: 'recogniser_reopened' },
      { type: 'tone_heard', streamMs: 3_000 },
      { type: 'dtmf_entered' },
      { type: 'turn_typed', text: 'on Monday' },
      { type: 'ending_soon', secondsLeft: 20 },
      { type: 'line_opened' },
    )
    .map(happening),
  fc.constantFrom(...SESSION_TIMERS).map((timer) => happening({ type: 'timer', timer })),
  // Events of something that has already ended: audio or marks of an old item, or the end of an old reply.
  fc
    .nat({ max: 30 })
    .chain((n) =>
      fc
        .constantFrom<SessionEventBody>(
          { type: 'item_audio', itemId: `reply-${n}.0`, replyId: `reply-${n}`, ms: 500 },
          { type: 'item_audio', itemId: `line-${n}`, ms: 500 },
          { type: 'item_played', itemId: `reply-${n}.0`, playedMs: 400, complete: false },
          { type: 'item_whole', itemId: `line-${n}` },
          { type: 'reply_done', replyId: `reply-${n}` },
          { type: 'reply_heard', replyId: `reply-${n}`, times: { startedMs: 0 } },
        )
        .map(happening),
    ),
);

/** Events that end a call. */
const ending: fc.Arbitrary<Act> = fc
  .constantFrom<SessionEventBody>(
    { type: 'provider_gone', part: 'model', message: 'the language model provider is gone' },
    { type: 'provider_gone', part: 'voice', message: 'the text-to-speech provider is gone' },
    { type: 'answered_by', who: 'voicemail' },
    { type: 'machine_heard' },
    { type: 'answered_by', who: 'human' },
    { type: 'tool_called', replyId: 'reply-1', toolCallId: 'tool-1', name: 'answering_machine', arguments: {} },
    { type: 'tool_finished', endsCall: true, ok: true },
  )
  .map(happening);

/** The engine declares that the current reply is the agent's last one. */
const goodbye: fc.Arbitrary<Act> = fc.constantFrom('agent' as const, 'caller' as const).map((goodbyeBy) => (world) => {
  const { id = 'reply-1' } = world.state().reply ?? {};
  world.happens({ type: 'reply_is_last', replyId: id, itemId: `${id}.0`, goodbyeBy });
});

const story = fc.array(
  fc.oneof(
    { weight: 20, arbitrary: usual },
    { weight: 12, arbitrary: wild },
    { weight: 2, arbitrary: ending },
    { weight: 1, arbitrary: goodbye },
  ),
  { maxLength: 25 },
);

const setups: fc.Arbitrary<SessionSetup> = fc.record({
  policy: fc.constant(SETUP.policy),
  capabilities: fc.record({
    endsTurns: fc.constantFrom('session' as const, 'engine' as const),
    completesDigits: fc.constantFrom('session' as const, 'engine' as const),
  }),
  voicemail: fc.record({
    action: fc.constantFrom('hang_up' as const, 'leave_message' as const, 'continue' as const),
    hasMessage: fc.boolean(),
  }),
  resumed: fc.boolean(),
  introduced: fc.boolean(),
});

const habits: fc.Arbitrary<WorldHabits> = fc.record({
  speechMs: fc.constantFrom(0, 400, 1_000, 3_000, 12_000),
  afterMs: fc.constantFrom(20, 300, 2_500),
  marks: fc.boolean(),
});

const RUNS = { numRuns: 300 };

/** Plays these events in a call whose media stream is open. */
function played(setup: SessionSetup, how: WorldHabits, acts: readonly Act[]): World {
  const world = openWorld({ ...setup, resumed: setup.resumed || setup.introduced }, how);
  world.happens({ type: 'line_opened' });
  for (const act of acts) act(world);
  return world;
}

function always(check: (world: World, setup: SessionSetup) => void): void {
  fc.assert(
    fc.property(setups, habits, story, (setup, how, acts) => check(played(setup, how, acts), setup)),
    RUNS,
  );
}

const hasEnded = (world: World) =>
  world.of('end').length + world.of('fail').length > 0 ||
  world.events.some((event) => event.type === 'tool_finished' && event.endsCall && event.ok);

describe('a session with random events in random order', () => {
  it('sends no audio of an item after it was closed', () => {
    always((world) => {
      const closed = new Set<string>();
      const late = world.commands.filter(({ command }) => {
        if (command.type === 'close_item') closed.add(command.itemId);
        return command.type === 'send_audio' && closed.has(command.itemId);
      });
      expect(late).toEqual([]);
    });
  });

  it('says at most one goodbye and ends once', () => {
    always((world) => {
      world.pass(60_000);
      const goodbyes = world.of('say').filter(({ phrase }) => phrase === 'silence_goodbye' || phrase === 'apology');
      expect(new Set(goodbyes.map(({ phrase }) => phrase)).size).toBeLessThanOrEqual(1);
      const spoken = new Set(
        world.commands.flatMap(({ command, kind }) =>
          command.type === 'send_audio' && kind === 'closing' ? [command.itemId] : [],
        ),
      );
      expect(spoken.size).toBeLessThanOrEqual(1);
      // After the agent's own goodbye, nothing new starts.
      const last = world.commands.findIndex(({ before }) => before.closing?.lingersMs !== undefined);
      const begun = last < 0 ? [] : world.commands.slice(last).map(({ command }) => command.type);
      expect(begun.filter((type) => type === 'request_reply' || type === 'say')).toEqual([]);
      expect(world.of('end').length + world.of('fail').length).toBeLessThanOrEqual(1);
    });
  });

  it('confirms at most one reply per turn and has one reply at a time', () => {
    always((world) => {
      const confirmed = new Map<string, number>();
      let live: string | undefined;
      let sinceTurn = 1;
      for (const { command, before } of world.commands) {
        if (command.type === 'request_reply') {
          // A reply that has finished is replaced without a command to cancel it.
          if (live !== undefined) expect(before.reply).toMatchObject({ id: live, running: false });
          live = command.replyId;
        } else if (command.type === 'cancel_reply') live = undefined;
        if (command.type === 'add_to_history') sinceTurn = 0;
        const isConfirmed = command.type === 'confirm_reply' || (command.type === 'request_reply' && command.confirmed);
        if (!isConfirmed) continue;
        confirmed.set(command.replyId, (confirmed.get(command.replyId) ?? 0) + 1);
        expect(confirmed.get(command.replyId)).toBe(1);
        // Between two confirmed replies, something must have been added to the history.
        expect(sinceTurn).toBe(0);
        sinceTurn += 1;
      }
    });
  });

  it('loses no DTMF digit', () => {
    always((world) => {
      world.happens({ type: 'stopped' });
      const pressed = world.events.flatMap((event) => (event.type === 'dtmf_digit' ? [event.digit] : [])).join('');
      const stored = world.stored().flatMap((turn) => /^caller: \(keys: (.*)\)$/.exec(turn)?.[1] ?? []);
      expect(stored.join('').replaceAll(' ', '')).toBe(pressed);
    });
  });

  it('never says the filler twice in a row', () => {
    always((world) => expect(fillersInARow(world)).toEqual([]));
  });

  it('introduces itself before it says anything else, even after a resume', () => {
    always((world, setup) => {
      const { heardAfterMs, attempts } = setup.policy.introduction;
      let tried = 0;
      let heard = setup.introduced;
      for (const { command, kind } of world.commands) {
        if (command.type === 'close_item' && command.kind === 'introduction') {
          tried += 1;
          heard ||= command.complete || command.playedMs >= heardAfterMs || tried >= attempts;
        }
        // A caller who answers a question with DTMF digits needs no introduction.
        heard ||= command.type === 'request_reply' && command.task === 'digits';
        if (command.type !== 'send_audio' || heard) continue;
        expect(['introduction', 'message', 'closing']).toContain(kind);
      }
    });
  });

  it('ends after the caller falls silent and all timers fire', () => {
    always((world) => {
      world.happens({ type: 'voice_paused', endMs: world.now(), lastVoiceAtMs: world.now() });
      world.happens({ type: 'voice_ended', streamMs: world.now() });
      const before = world.events.length;
      world.pass(240_000);
      expect(hasEnded(world)).toBe(true);
      // No timer restarts itself forever. A mark arrives every 200 ms at most, so there are few events.
      expect(world.events.length - before).toBeLessThan(2_500);
    });
  });
});
