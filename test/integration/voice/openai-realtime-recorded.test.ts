import { replaySession, type SessionLog } from '../../../src/voice/session/reducer/replay.js';
import { eventually } from './support/media-fixture';
import { ANSWER_MS, placeRealtimeCall } from './support/realtime-call';
import type { RealtimeCall } from './support/realtime-call';

describe('a session of the realtime engine', () => {
  let call: RealtimeCall;
  afterEach(() => call.close());

  it('is recorded if configured, and its replay has the same transcript', async () => {
    call = await placeRealtimeCall({
      recordsEvents: true,
      script: [{ hears: 'Who is it?', says: 'It is the clinic.' }],
    });
    await eventually(() => call.line.heard.length > 40, ANSWER_MS);
    call.line.say(await call.speech('Who is it?'));
    await eventually(() => call.line.agentTurns().includes('It is the clinic.'), ANSWER_MS);
    call.engine.onDtmf('1');
    const { sessionLogs: [sessionLog = ''] = [] } = await call.line.hangUp();
    const log = JSON.parse(sessionLog) as SessionLog;
    const stored = replaySession(log).commands.flatMap((each) =>
      each.type === 'store_turn' ? [{ speaker: each.speaker, text: each.text }] : [],
    );
    expect(stored).toEqual(call.line.turns.map(({ speaker, text }) => ({ speaker, text })));
    expect(stored.map(({ text }) => text)).toEqual(
      expect.arrayContaining([expect.stringMatching(/interrupted/), 'Who is it?', 'It is the clinic.', '(keys: 1)']),
    );
  });

  it('is not recorded by default', async () => {
    call = await placeRealtimeCall();
    await call.greeted();
    expect(await call.line.hangUp()).not.toHaveProperty('sessionLogs');
  });

  it('counts a failed response and its repetition as one reply', async () => {
    call = await placeRealtimeCall({ recordsEvents: true, nasty: { failResponses: 1 } });
    await call.greeted();
    const { sessionLogs: [sessionLog = ''] = [] } = await call.line.hangUp();
    const { commands } = replaySession(JSON.parse(sessionLog) as SessionLog);
    expect(call.sent('response.create')).toHaveLength(2);
    expect(commands.filter(({ type }) => type === 'request_reply')).toHaveLength(1);
  });
});
