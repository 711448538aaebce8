import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSynthesizer } from '../../src/voice/audio/flite.js';
import { createGrammarStt } from '../../src/voice/audio/grammar-stt.js';
import { decodeMulaw, encodeMulaw } from '../../src/voice/audio/mulaw.js';
import { pcmBytes } from '../../src/voice/audio/wav.js';
import { openFakeChat } from '../integration/voice/fakes/chat-completions';
import { bodyOf, passOn } from '../integration/voice/fakes/loopback';
import { openFakeTranscriptions } from '../integration/voice/fakes/transcriptions';

/** The simulated person's answers (`scenarios/11.json`), as the server transcribes them, and what its model says then. */
const TALK: Readonly<Record<string, string>> = {
  yes: 'Wonderful. Please tell me the four digits of your confirmation code.',
  'four one five two': 'I heard four, one, five, two. Is that right?',
  'yes that is right': 'Thank you. Which time of day suits you best?',
  afternoon: 'The afternoon it is. Thank you, and goodbye.',
};
const ANSWERS = Object.keys(TALK);
const GREETING = 'Hello, this is Amber, the AI assistant of the front desk. Will you come tomorrow at ten?';

export type SelfHosted = Awaited<ReturnType<typeof openSelfHosted>>;

/**
 * One OpenAI-compatible server that needs no key and understands speech, writes and speaks: `/v1/audio/transcriptions`,
 * `/v1/chat/completions` and `/v1/audio/speech`. It transcribes the audio that it gets, by a grammar.
 */
export async function openSelfHosted() {
  const transcriptions = await openFakeTranscriptions();
  const chat = await openFakeChat();
  // The models of a self-hosted server are not OpenAI's.
  transcriptions.installed = ['whisper-small'];
  chat.rejects = () => undefined;
  chat.lists.key = '';
  const recognizer = createGrammarStt();
  const synthesizer = createSynthesizer();
  const authorizations: (string | undefined)[] = [];
  const spoken: string[] = [];
  await Promise.all([recognizer.warm(), synthesizer.warm()]);

  transcriptions.transcribe = async (pcm) => {
    const heard = await recognizer.recognize(encodeMulaw(pcm), { kind: 'choices', choices: ANSWERS });
    return heard.outcome === 'understood' && heard.meaning.kind === 'choice'
      ? (ANSWERS[heard.meaning.index] ?? '')
      : '';
  };
  chat.otherwise = (text) => ({
    says: TALK[text] ?? (text.startsWith('[The line is open') ? GREETING : 'Sorry, please say that again.'),
  });
  // The schema of the request numbers the demo agent's output parameters.
  chat.values = { value_1: true, value_2: '4152', value_3: 'afternoon' };

  async function speak(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { input, response_format: format } = await bodyOf(request);
    spoken.push(String(input));
    const pcm = decodeMulaw(await synthesizer.speak(String(input), 'slt'));
    // 24 kHz, as OpenAI's `pcm` and Kokoro's voices.
    const tripled = Int16Array.from({ length: pcm.length * 3 }, (_, i) => pcm[Math.floor(i / 3)] ?? 0);
    response.writeHead(format === 'pcm' ? 200 : 400, { 'content-type': 'audio/pcm' }).end(pcmBytes(tripled));
  }

  const ports: Readonly<Record<string, number>> = {
    '/v1/audio/transcriptions': transcriptions.port,
    '/v1/chat/completions': chat.port,
  };
  const server = createServer((request, response) => {
    authorizations.push(request.headers.authorization);
    const port = ports[request.url ?? ''];
    if (request.url === '/v1/audio/speech') void speak(request, response);
    else if (port === undefined) response.writeHead(404).end();
    else passOn(request, response, port);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    transcriptions,
    chat,
    spoken,
    authorizations,
    async close(): Promise<void> {
      await closeServer(server);
      await Promise.all([transcriptions.close(), chat.close(), recognizer.close(), synthesizer.close()]);
    },
  };
}

async function closeServer(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}
