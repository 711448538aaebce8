import type { AgentSnapshot } from '../../../src/agents/agent-snapshot.js';
import { createAccounts } from '../../../src/identity/accounts/accounts.js';
import { eventually, openMediaFixture, type MediaFixture } from './support/media-fixture';
import { createScriptedEngine, type ScriptedCall } from './support/scripted-engine';

const CONCLUDES_AFTER_MS = 3_000;

const engine = createScriptedEngine();
let media: MediaFixture;
let accountId: string;

beforeAll(async () => {
  media = await openMediaFixture({ engine: engine.factory });
  accountId = (await createAccounts(media.database).create({ name: 'Acme' }))._id;
});
afterAll(() => media.close());

async function startCall(agent: Partial<AgentSnapshot> = {}) {
  const placed = await media.placeCall({ accountId, agent });
  const line = await media.openLine(placed);
  await eventually(() => engine.calls.has(placed.callId));
  const scripted = engine.calls.get(placed.callId) as ScriptedCall;
  scripted.stopsAfterMs = CONCLUDES_AFTER_MS;
  return { ...placed, line, scripted };
}

describe('the end of a session whose engine needs long for its conclusion', () => {
  it('closes the line first, stores the conclusion later, and then signals the workflow', async () => {
    const { line, scripted, callId } = await startCall();
    await eventually(async () => (await media.results.find(callId)) !== null);
    scripted.sink.end('agent_hangup');
    const decidedAt = performance.now();
    expect(await line.closed).toBe(1000);
    // On an idle machine this takes half a second.
    expect(performance.now() - decidedAt).toBeLessThan(CONCLUDES_AFTER_MS - 500);
    // If the carrier requests instructions now, it gets a hang-up.
    expect(await media.results.find(callId)).toMatchObject({ endReason: 'agent_hangup' });
    expect(await media.signals(callId)).toMatchObject([{ kind: 'started' }, { kind: 'ended', resultStored: false }]);
    await eventually(async () => (await media.signals(callId)).length === 3, 10_000);
    expect((await media.signals(callId)).at(-1)).toMatchObject({ kind: 'stored' });
    expect(await media.results.find(callId)).toMatchObject({ endReason: 'agent_hangup', summary: 'Scripted.' });
  }, 60_000);

  it('has stored the transfer number before it closes the line', async () => {
    const { line, scripted, callId } = await startCall({ transferNumbers: ['+12025550143'] });
    await eventually(async () => (await media.results.find(callId)) !== null);
    const transferRequestedAt = performance.now();
    expect(await scripted.sink.runTool({ name: 'transfer_call', arguments: { number: '+12025550143' } })).toMatchObject(
      {
        ok: true,
      },
    );
    await line.closed;
    expect(performance.now() - transferRequestedAt).toBeLessThan(CONCLUDES_AFTER_MS - 500);
    expect(await media.results.find(callId)).toMatchObject({ endReason: 'transferred', transferTo: '+12025550143' });
    await eventually(async () => (await media.results.find(callId))?.summary === 'Scripted.', 10_000);
  }, 60_000);

  it('waits for the conclusion if the callee has hung up, because no one hears the silence', async () => {
    const { line, callId } = await startCall();
    await eventually(async () => (await media.results.find(callId)) !== null);
    line.hangUp();
    await eventually(async () => (await media.signals(callId)).length === 2, 10_000);
    expect((await media.signals(callId)).at(-1)).not.toHaveProperty('resultStored');
    expect(await media.results.find(callId)).toMatchObject({ endReason: 'carrier_stop', summary: 'Scripted.' });
  }, 60_000);
});
