import { dirname, join } from 'node:path';
import type { Decoder, SoundSwallowerModule } from 'soundswallower';
import { garbageWord, PHONES } from './grammar.js';
import type { GrammarSource } from './grammar.js';
import { decodeMulaw } from './mulaw.js';
import { pronounce } from './pronunciation.js';
import { serveRequests } from './worker-thread.js';

/** A recognition request to the worker thread. */
export interface RecognitionRequest {
  mulaw: Uint8Array;
  source: GrammarSource;
}

const FULL_SCALE = 32_768;

let loading: Promise<Decoder> | undefined;
let grammar = '';

async function load(): Promise<Decoder> {
  const { default: createModule } = await import('soundswallower');
  const folder = dirname(require.resolve('soundswallower'));
  // Give the library's model as an absolute path: the default is relative to the working directory.
  const options: Partial<SoundSwallowerModule> & { modelBase: string } = { modelBase: join(folder, 'model', '/') };
  const library = await createModule(options);
  // With this language weight (`lw`) and word insertion penalty (`wip`), a phrase has the same weight whatever its
  // number of words. So the decoder can tell known phrases from other sounds.
  const decoder = new library.Decoder({ loglevel: 'FATAL', samprate: 8_000, lw: 1, wip: 0.0005 });
  await decoder.initialize();
  decoder.add_words(...PHONES.map((phone): [string, string] => [garbageWord(phone), phone]));
  return decoder;
}

function listenFor(decoder: Decoder, { jsgf, words }: GrammarSource): void {
  if (jsgf === grammar) return;
  grammar = '';
  const unknown = words.filter((word) => !decoder.lookup_word(word));
  if (unknown.length > 0) decoder.add_words(...unknown.map((word): [string, string] => [word, pronounce(word)]));
  decoder.set_grammar(jsgf);
  grammar = jsgf;
}

async function recognize({ mulaw, source }: RecognitionRequest): Promise<string> {
  const decoder = await (loading ??= load());
  listenFor(decoder, source);
  const samples = Float32Array.from(decodeMulaw(mulaw), (sample) => sample / FULL_SCALE);
  decoder.start();
  // Process the whole utterance at once, so that loudness and channel are normalized over all of it.
  decoder.process_audio(samples, false, true);
  decoder.stop();
  return decoder.get_text().trim();
}

serveRequests<RecognitionRequest, string>(recognize);
