import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseConfig } from '../../src/platform/config/config.js';
import { replaySession, type SessionLog } from '../../src/voice/session/reducer/replay.js';
import { openStage } from '../support/pipeline-stage';

/**
 * A recording of a session that once went wrong. It was made with `RECORD_SESSIONS=1 npx jest --testPathPatterns
 * pipeline-turns`.
 */
interface Incident {
  about: string;
  /** The transcript, in order. */
  said: string[];
  /** The end reason, or the error if the session failed. */
  ended: string | null;
  log: SessionLog;
}

const FOLDER = join(__dirname, '../histories/sessions');
const incidents = readdirSync(FOLDER).map((name) => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as Incident);

/** Derives the outcome of a session from its commands. */
function outcomeOf(log: SessionLog) {
  const { commands } = replaySession(log);
  const said = commands.flatMap((each) => (each.type === 'store_turn' ? [`${each.speaker}: ${each.text}`] : []));
  const [ended = null] = commands.flatMap((each) =>
    each.type === 'end' ? [each.reason] : each.type === 'fail' ? [each.message] : [],
  );
  return { said, ended };
}

describe('recorded sessions', () => {
  it('exist only if an operator turns on the session log', () => {
    expect(parseConfig({}).sessionLogs).toBe(false);
    expect(parseConfig({ SESSION_LOG: 'on' }).sessionLogs).toBe(true);
  });

  it('number at least ten', () => expect(incidents.length).toBeGreaterThanOrEqual(10));

  it.each(incidents.map((incident) => [incident.about, incident] as const))('%s', (_, { said, ended, log }) => {
    expect(outcomeOf(log)).toEqual({ said, ended });
  });

  it('make the same decisions on replay', async () => {
    jest.useFakeTimers();
    const stage = await openStage();
    await stage.says('When is it?');
    stage.lastRequest(2).respond('At ten.');
    await stage.pass(2_000);
    await stage.close();
    jest.useRealTimers();
    const log = JSON.parse(stage.result?.sessionLogs?.[0] ?? '') as SessionLog;
    expect(outcomeOf(log).said).toEqual(stage.said());
    expect(log.left).toBe(0);
    expect(replaySession(log)).toEqual(replaySession(log));
  });
});
