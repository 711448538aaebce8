import { createSynthesizer } from '../../../src/voice/audio/flite.js';
import { createOfflineEngine } from '../../../src/voice/engines/offline/index.js';
import { replaySession, type SessionLog } from '../../../src/voice/session/reducer/replay.js';
import { connect, until } from '../../support/engine-line';

describe('a session of the offline engine', () => {
  const synthesizer = createSynthesizer();
  const recording = createOfflineEngine({ recordsEvents: true });
  const silent = createOfflineEngine();
  beforeAll(() => Promise.all([recording.warm(), silent.warm()]));
  afterAll(() => Promise.all([synthesizer.close(), recording.close(), silent.close()]));

  it('is recorded if configured, and its replay has the same transcript', async () => {
    const engine = recording.create();
    const line = connect(engine, { outputTemplate: { agreed: false, code: null } });
    await line.agentTurn();
    line.say(await synthesizer.speak('Yes.', 'rms'));
    await until(() => line.values['agreed'] === true);
    await until(() => line.isPlaying());
    for (const key of '415#') engine.onDtmf(key);
    expect(await line.ended).toBe('agent_hangup');
    const log = JSON.parse((await line.stop()).sessionLogs?.[0] ?? '') as SessionLog;
    const stored = replaySession(log).commands.flatMap((each) =>
      each.type === 'store_turn' ? [{ speaker: each.speaker, text: each.text }] : [],
    );
    expect(stored).toEqual(line.transcript.map(({ speaker, text }) => ({ speaker, text })));
    expect(stored.map(({ text }) => text)).toEqual(
      expect.arrayContaining(['yes', '(keys: 4 1 5 #)', 'Thank you. That is all I need to know. Goodbye.']),
    );
  }, 90_000);

  it('is not recorded by default', async () => {
    const line = connect(silent.create());
    await line.agentTurn();
    expect(await line.stop()).not.toHaveProperty('sessionLogs');
  }, 60_000);
});
