import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright-core';
import { createSynthesizer } from '../../src/voice/audio/flite.js';
import { decodeMulaw } from '../../src/voice/audio/mulaw.js';
import { pcmBytes, wavHeader } from '../../src/voice/audio/wav.js';
import { silence } from './spoken.js';

const SAMPLE_RATE = 8_000;

async function spoken(words: string): Promise<Uint8Array> {
  const synthesizer = createSynthesizer();
  const mulaw = await synthesizer.speak(words, 'rms');
  await synthesizer.close();
  return mulaw;
}

/** A sentence, and how long the microphone is silent before it. */
export interface Utterance {
  afterMs: number;
  words: string;
}

/** Writes what somebody says into Chromium's fake microphone, from the moment at which a page opens it. */
export async function writeMicrophone(path: string, utterances: readonly Utterance[]): Promise<void> {
  const parts: Uint8Array[] = [];
  for (const { afterMs, words } of utterances) parts.push(silence(afterMs), await spoken(words));
  const audio = Buffer.concat([...parts, silence(1_000)]);
  const header = wavHeader({ sampleRate: SAMPLE_RATE, channels: 1, dataBytes: audio.length * 2 });
  await writeFile(path, Buffer.concat([header, pcmBytes(decodeMulaw(audio))]));
}

/** The options with which Chromium plays such a recording once as its microphone. */
export const microphoneOptions = (path: string): string[] => [
  '--use-fake-device-for-media-stream',
  `--use-file-for-fake-audio-capture=${path}%noloop`,
];

/** Replaces the microphone of the pages by one that is silent until `sayInto`. */
export async function replaceMicrophone(context: BrowserContext): Promise<void> {
  await context.addInitScript({
    content: `navigator.mediaDevices.getUserMedia = async () => {
      const context = new AudioContext();
      await context.resume();
      const microphone = context.createMediaStreamDestination();
      globalThis.sayIntoMicrophone = (samples) => {
        const buffer = context.createBuffer(1, samples.length, ${SAMPLE_RATE});
        buffer.copyToChannel(Float32Array.from(samples, (sample) => sample / 32_768), 0);
        const source = context.createBufferSource();
        source.buffer = buffer;
        source.connect(microphone);
        source.start();
      };
      return microphone.stream;
    };`,
  });
}

/** Says words into the microphone of `replaceMicrophone`. */
export async function sayInto(page: Page, words: string): Promise<void> {
  const samples = [...decodeMulaw(await spoken(words))];
  await page.evaluate(`sayIntoMicrophone(${JSON.stringify(samples)})`);
}

/** Measures what the pages play. */
export async function measureLoudspeaker(context: BrowserContext): Promise<void> {
  await context.addInitScript({
    content: `{
      const connect = AudioNode.prototype.connect;
      AudioNode.prototype.connect = function (target, ...rest) {
        if (target instanceof AudioDestinationNode) {
          const meter = this.context.createAnalyser();
          const samples = new Float32Array(meter.fftSize);
          globalThis.loudness = () => {
            meter.getFloatTimeDomainData(samples);
            return Math.max(...samples.map(Math.abs));
          };
          connect.call(this, meter);
        }
        return connect.call(this, target, ...rest);
      };
    }`,
  });
}

/** Waits until the page has played nothing for half a second. */
export async function quiet(page: Page): Promise<void> {
  for (let samples = 0; samples < 10; samples = (await loudness(page)) < 0.01 ? samples + 1 : 0) await sleep(50);
}

/** Returns the peak of what the page plays at this moment, 0 to 1. */
export const loudness = (page: Page) => page.evaluate<number>('loudness()');
