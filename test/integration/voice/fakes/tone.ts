import type { ServerResponse } from 'node:http';
import { encodeMulaw } from '../../../../src/voice/audio/mulaw.js';
import { bodyOf, openLoopback } from './loopback';
import { fakeVoice, MS_PER_CHARACTER, tone, type FakeVoice } from './voices';

/** A server that returns a tone for each text, as 8 kHz mu-law. */
export async function openFakeTone(): Promise<FakeVoice> {
  const fake: FakeVoice = fakeVoice(
    await openLoopback({
      onRequest(request, response) {
        fake.urls.push(new URL(request.url ?? '', 'http://fake'));
        if (request.headers.authorization !== 'Bearer tts-key') return void response.writeHead(401).end();
        void bodyOf(request).then((body) => {
          fake.openings.push(body);
          return speak(String(body['text']), response);
        });
      },
    }),
  );

  async function speak(text: string, response: ServerResponse): Promise<void> {
    fake.texts.push(text);
    const fault = fake.faultOf(text);
    if (fake.hanging || fault?.kind === 'stall') return;
    if (fault?.kind === 'status') return void response.writeHead(fault.status, fault.headers).end();
    const bytes = encodeMulaw(tone(text.length * MS_PER_CHARACTER, 8_000));
    if (fault?.kind !== 'cut') return void response.end(bytes);
    response.write(bytes.subarray(0, fault.afterMs * 8));
    await new Promise((resolve) => setTimeout(resolve, 5));
    response.destroy();
  }

  return fake;
}
