import { setTimeout as sleep } from 'node:timers/promises';
import {
  createUtterancePlayer,
  type UtteranceOutcome,
  type UtterancePlayer,
} from '../../src/voice/engines/offline/utterance-player.js';
import { SESSION_POLICY } from '../../src/voice/session/reducer/policy.js';
import { runSession } from '../../src/voice/session/run-session.js';
import { silence } from '../support/spoken';

const SETUP = {
  policy: SESSION_POLICY,
  capabilities: { endsTurns: 'engine' },
  voicemail: { action: 'hang_up', hasMessage: false },
  resumed: true,
  introduced: true,
} as const;

/** Starts a session whose speech synthesis takes 4 s for the word "late". */
function startSpeakingSession() {
  const transcript: string[] = [];
  const made: Promise<void>[] = [];
  const origin = performance.now();
  const now = () => performance.now() - origin;
  const session = runSession({
    setup: SETUP,
    now,
    perform(command) {
      if (command.type === 'send_audio') player.send(command.itemId);
      if (command.type === 'close_item') player.close(command);
      if (command.type === 'store_turn') transcript.push(command.text);
      if (command.type !== 'request_reply') return;
      const { replyId: id, task } = command;
      made.push(player.say({ itemId: 'item-1', parts: ['early', 'late'], reply: { id, task } }));
    },
  });
  const player: UtterancePlayer = createUtterancePlayer({
    async speak(text) {
      if (text === 'late') await sleep(4_000);
      return silence(200);
    },
    sink: { sendAudio: () => undefined, endItem: () => undefined },
    now,
    dispatch: session.dispatch,
    onEnd: () => undefined,
  });
  return { session, transcript, made, isSaying: () => session.state().playback.items.length > 0 };
}

describe('an utterance of the offline agent', () => {
  it.each([
    ['before its question was synthesized', 1_000, 900, 0],
    ['in its question', Infinity, 2_600, 600],
    ['without a question', Infinity, 2_600, undefined],
  ])('reports how much of its question was played: cut off %s', async (_, givesUpAfterMs, playedMs, questionMs) => {
    const lines: UtteranceOutcome[] = [];
    let spokenMs = 0;
    let give: () => void = () => undefined;
    const never = new Promise<void>((resolve) => (give = resolve));
    const player = createUtterancePlayer({
      async speak() {
        if (spokenMs >= givesUpAfterMs) await never;
        spokenMs += 1_000;
        return silence(1_000);
      },
      sink: { sendAudio: () => undefined, endItem: () => undefined },
      now: () => 0,
      dispatch: () => undefined,
      onEnd: (line) => lines.push(line),
    });
    const asks = questionMs === undefined ? {} : { questionAt: 2 };
    const said = player.say({ itemId: 'item-1', parts: ['one', 'two', 'Agreed?', 'Yes or no?'], ...asks });
    if (givesUpAfterMs === Infinity) await said;
    player.close({ type: 'close_item', itemId: 'item-1', kind: 'reply', playedMs, complete: false, startMs: 0 });
    give();
    await said;
    expect(lines).toEqual([{ playedMs, complete: false, ...(questionMs === undefined ? {} : { questionMs }) }]);
  });

  it('continues while speech for its second part is late, and is complete even if its last mark is lost', async () => {
    const { session, transcript, made, isSaying } = startSpeakingSession();
    session.dispatch({ type: 'line_opened' });
    await sleep(3_600);
    expect(isSaying()).toBe(true);
    await made[0];
    session.dispatch({ type: 'item_played', itemId: 'item-1', playedMs: 200, complete: false });
    await sleep(2_500);
    expect(isSaying()).toBe(true);
    await sleep(1_100);
    expect(isSaying()).toBe(false);
    expect(transcript).toEqual(['early late']);
    session.dispatch({ type: 'stopped' });
  });
});
