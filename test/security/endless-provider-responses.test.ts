import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import { createChatModel } from '../../src/voice/engines/pipeline/llm/chat-completions.js';
import { createOpenAiTts } from '../../src/voice/engines/pipeline/tts/openai-speech.js';

/** More bytes than a call may keep in memory because of one response. */
const ENOUGH_BYTES = 20_000_000;

const dispatcher = new Agent();
let sent = 0;
const server = createServer((request, response) => {
  request.resume();
  void (request.url?.endsWith('/audio/speech') ? sendEndlessAudio(response) : sendEndlessToolCall(response));
});
let baseUrl = '';
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  sent = 0;
});
afterAll(async () => {
  await dispatcher.destroy();
  server.closeAllConnections();
  server.close();
});

async function sendUntilClosed(response: ServerResponse, part: string | Buffer): Promise<void> {
  while (!response.destroyed && sent < ENOUGH_BYTES) {
    sent += part.length;
    if (response.write(part)) await sleep(0);
    else await new Promise<void>((resolve) => response.once('drain', resolve).once('close', resolve));
  }
  response.end();
}

function sendEndlessToolCall(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const part = { index: 0, id: 'a', function: { name: 'book', arguments: 'x'.repeat(5_000) } };
  return sendUntilClosed(response, `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [part] } }] })}\n\n`);
}

function sendEndlessAudio(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'audio/pcm' });
  return sendUntilClosed(response, Buffer.alloc(48_000));
}

describe('a provider whose response does not end', () => {
  it('is cut off when it is a model that requests a tool', async () => {
    const model = createChatModel({ baseUrl, apiKey: 'k', model: 'm' }, { dispatcher });
    const signal = new AbortController().signal;
    const answer = model.stream({ messages: [], tools: [], mayCallTools: true, signal });
    const read = async () => {
      for await (const _part of answer);
    };
    await expect(read()).rejects.toThrow('sent more than any reply needs');
    expect(sent).toBeLessThan(ENOUGH_BYTES);
  });

  it('is cut off when it is a TTS, after more audio than the words need', async () => {
    const tts = createOpenAiTts({ baseUrl, apiKey: 'k', model: 'm', voiceIdOf: (name) => name }, { dispatcher });
    const error = await new Promise<Error>((resolve, reject) => {
      const speech = tts.open('amber', 'en-US', {
        onAudio: () => undefined,
        onSpoken: () => undefined,
        onDone: () => reject(new Error('It ended.')),
        onLost: resolve,
      });
      speech.say('Good morning.');
    });
    expect(error.message).toContain('sent more than any reply needs');
    expect(sent).toBeLessThan(ENOUGH_BYTES);
  }, 20_000);
});
