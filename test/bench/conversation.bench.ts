import { openPipeline } from '../integration/voice/support/pipeline-harness.js';
import { placeRealtimeCall } from '../integration/voice/support/realtime-call.js';
import type { EngineLine } from '../integration/voice/support/engine-line.js';
import { eventually } from '../integration/voice/support/media-fixture.js';
import { percentile, report } from './figures.js';

const QUESTION = 'Tell me, please.';
/** The text takes longer than two seconds to speak, so that the caller can interrupt it after two seconds. */
const ANSWER =
  'There are many things to say about tomorrow at ten, and all of them take their time, as do the words that say so.';
const INTERRUPTIONS = 10;
const INTERRUPT_AFTER_MS = 2_000;
const ANSWER_MS = 20_000;
/**
 * Both providers run on this machine. So the times consist of the service's own time and the pause that ends a turn.
 */
const LIMITS = { voiceToVoiceMs: 1_500, bargeInMs: 600, ownMs: 50 };

/** The two sides of a measured conversation. */
interface MeasuredConversation {
  line: EngineLine;
  greeted: () => Promise<unknown>;
  speech: (text: string) => Promise<Uint8Array>;
  /** The part of a reply's latency that the service adds between messages of its providers and the line. */
  ownPart: 'own' | 'model';
  close: () => Promise<unknown>;
}

interface Latencies {
  /** Times from the end of the caller's last word to the first sound of the agent's reply. */
  voiceToVoiceMs: number[];
  /** Times from the first sound of the caller's interruption until the agent's audio is cleared. */
  bargeInMs: number[];
  /** The service's own share of each reply. */
  ownMs: number[];
}

async function measure({ line, greeted, speech, ownPart, close }: MeasuredConversation): Promise<Latencies> {
  const latencies: Latencies = { voiceToVoiceMs: [], bargeInMs: [], ownMs: [] };
  await greeted();
  const words = withoutSilence(await speech(QUESTION));
  const ask = async () => {
    line.say(words);
    await eventually(() => !line.callerSpeaks(), ANSWER_MS);
    const atMs = line.now();
    const first = () => line.events.find((event) => event.kind === 'audio' && event.atMs > atMs);
    await eventually(() => first() !== undefined, ANSWER_MS);
    latencies.voiceToVoiceMs.push((first()?.atMs ?? Number.NaN) - atMs);
  };
  await ask();
  for (let n = 0; n < INTERRUPTIONS; n += 1) {
    await new Promise((resolve) => setTimeout(resolve, INTERRUPT_AFTER_MS));
    const atMs = line.now();
    const clears = line.clears();
    const asked = ask();
    await eventually(() => line.clears() > clears, ANSWER_MS);
    latencies.bargeInMs.push((line.events.filter(({ kind }) => kind === 'clear').at(-1)?.atMs ?? Number.NaN) - atMs);
    await asked;
  }
  await close();
  latencies.ownMs.push(...line.latencies.map(({ parts }) => parts?.[ownPart] ?? Number.NaN));
  return latencies;
}

/** Trims the silence around the words, because the benchmark would count it as latency of the service. */
function withoutSilence(mulaw: Uint8Array): Uint8Array {
  const isSound = (byte: number) => byte !== 0xff && byte !== 0x7f;
  return mulaw.subarray(mulaw.findIndex(isSound), mulaw.findLastIndex(isSound) + 1);
}

function checkLatencies(title: string, { voiceToVoiceMs, bargeInMs, ownMs }: Latencies): void {
  report(title, {
    'voice to voice p50 ms': percentile(voiceToVoiceMs, 50),
    'voice to voice p95 ms': percentile(voiceToVoiceMs, 95),
    'barge-in p50 ms': percentile(bargeInMs, 50),
    'barge-in p95 ms': percentile(bargeInMs, 95),
    'own share of a turn p95 ms': percentile(ownMs, 95),
  });
  expect(percentile(voiceToVoiceMs, 50)).toBeLessThan(LIMITS.voiceToVoiceMs);
  expect(percentile(bargeInMs, 50)).toBeLessThan(LIMITS.bargeInMs);
  expect(ownMs.length).toBeGreaterThan(INTERRUPTIONS);
  expect(percentile(ownMs, 95)).toBeLessThanOrEqual(LIMITS.ownMs);
}

it('answers and stops talking in time with a realtime model', async () => {
  const script = Array.from({ length: INTERRUPTIONS + 2 }, () => ({ hears: QUESTION, says: ANSWER }));
  const call = await placeRealtimeCall({ script });
  // The fake provider begins its reply when it reports the end of the turn, so all of the model's part is our own.
  const conversation: MeasuredConversation = { ...call, ownPart: 'model' };
  checkLatencies('conversation, openai-realtime', await measure(conversation));
}, 200_000);

it('answers and stops talking in time with a pipeline of models', async () => {
  const pipeline = await openPipeline();
  await pipeline.factory.warm();
  pipeline.stt.script(Array.from({ length: INTERRUPTIONS + 2 }, () => QUESTION));
  pipeline.chat.answers.set(QUESTION, { says: ANSWER });
  const line = pipeline.dial();
  const conversation: MeasuredConversation = {
    line,
    greeted: () => eventually(() => line.agentTurns().length === 1 && !line.isPlaying(), ANSWER_MS),
    speech: (text) => pipeline.speak(text),
    ownPart: 'own',
    async close() {
      await line.hangUp();
      await pipeline.close();
    },
  };
  checkLatencies('conversation, pipeline', await measure(conversation));
}, 200_000);
