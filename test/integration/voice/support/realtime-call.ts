import type { EngineCall } from '../../../../src/voice/engines/port.js';
import type { ClientEvent } from '../fakes/openai-realtime-session';
import { openEngineLine } from './engine-line';
import type { EngineLine } from './engine-line';
import { eventually } from './media-fixture';
import { makeRealtimeHarness } from './realtime-harness';
import type { RealtimeHarness } from './realtime-harness';

export const ANSWER_MS = 30_000;

const CALL: EngineCall = {
  callId: 'call_realtime',
  instruction: 'Confirm the appointment of tomorrow at ten.',
  voice: 'cobalt',
  language: 'en-US',
  inputParameters: {},
  outputTemplate: { confirmed: false, note: null },
  direction: 'outbound',
  disclosesAi: true,
  voicemail: { action: 'continue' },
  tools: [{ name: 'look_up', description: 'Looks up.', parameters: { type: 'object', properties: {} } }],
};

export type RealtimeCall = Awaited<ReturnType<typeof placeRealtimeCall>>;

/** Places one call with the real engine and a fake provider on loopback. */
export async function placeRealtimeCall(
  options: Parameters<typeof makeRealtimeHarness>[0] & {
    call?: Partial<EngineCall>;
    script?: Parameters<NonNullable<RealtimeHarness['script']>>[0];
    answerTool?: Parameters<typeof openEngineLine>[2];
  } = {},
) {
  const harness = await makeRealtimeHarness(options);
  const { fake, factory } = harness;
  await factory.warm();
  fake.script(options.script ?? []);
  const engine = factory.create();
  const line: EngineLine = openEngineLine(engine, { ...CALL, ...options.call }, options.answerTool);

  const spoken = (before: number) =>
    eventually(() => line.agentTurns().length > before && !line.isPlaying(), ANSWER_MS);

  return {
    line,
    engine,
    fake,
    /** Returns the session that is open at this time. */
    session: () => {
      const last = fake.sessions.at(-1);
      if (last === undefined) throw new Error('there is no session');
      return last;
    },
    sent: (type: string): ClientEvent[] =>
      fake.sessions.flatMap(({ events }) => events.filter((event) => event.type === type)),
    speech: (text: string) => harness.speak(text),
    greeted: () => spoken(0),
    /** Waits until the agent has had more than `before` turns and the line has played all of them. */
    spoken,
    /** Speaks as the caller, and waits for a reply. */
    async ask(text = 'Tell me more, please.'): Promise<void> {
      const before = line.agentTurns().length;
      line.say(await harness.speak(text));
      await spoken(before);
    },
    async close(): Promise<void> {
      await line.hangUp();
      await factory.close();
      await harness.close();
    },
  };
}
