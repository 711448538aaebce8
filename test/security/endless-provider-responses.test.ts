import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import { createChatModel } from '../../src/voice/engines/pipeline/llm/chat-completions.js';
import { createResponsesModel } from '../../src/voice/engines/pipeline/llm/openai-responses.js';
import { createOpenAiStt } from '../../src/voice/engines/pipeline/stt/openai-transcriptions.js';
import { createSynthesizer } from '../../src/voice/audio/flite.js';
import { loadVoiceActivity } from '../../src/voice/audio/voice-activity.js';
import { silence } from '../support/spoken.js';
import { createChatClient } from '../../src/voice/models/chat-client.js';
import { createOpenAiTts } from '../../src/voice/engines/pipeline/tts/openai-speech.js';

/** More bytes than a call may keep in memory because of one response. */
const ENOUGH_BYTES = 20_000_000;

const dispatcher = new Agent();
let sent = 0;
const server = createServer((request, response) => {
  request.resume();
  void respond(response, request.url ?? '');
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
    else await drainOrClose(response);
  }
  response.end();
}

/** Removes both listeners, because Node warns about more than ten. */
async function drainOrClose(response: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

async function respond(response: ServerResponse, url: string): Promise<void> {
  if (url.endsWith('/audio/speech')) return sendEndlessAudio(response);
  if (url.startsWith('/empty/')) return sendEndlessEmptyDeltas(response);
  if (url.startsWith('/json/') || url.endsWith('/audio/transcriptions'))
    return sendUntilClosed(response, ' '.repeat(50_000));
  if (url.startsWith('/short/')) return sendEndlessToolItems(response, '');
  return url.endsWith('/responses') ? sendEndlessToolItems(response) : sendEndlessToolCall(response);
}

async function sendEndlessEmptyDeltas(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (let count = 0; !response.destroyed && count < 500; count += 1) {
    response.write(`data: ${JSON.stringify({ choices: [{ delta: { content: '' } }] })}\n\n`);
    await sleep(20);
  }
  response.end();
}

function sendEndlessToolCall(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const part = { index: 0, id: 'a', function: { name: 'book', arguments: 'x'.repeat(5_000) } };
  return sendUntilClosed(response, `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [part] } }] })}\n\n`);
}

function sendEndlessToolItems(response: ServerResponse, given = 'x'.repeat(5_000)): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const item = { type: 'function_call', call_id: 'a', name: 'b', arguments: given };
  return sendUntilClosed(response, `data: ${JSON.stringify({ type: 'response.output_item.done', item })}\n\n`);
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

  it('is cut off when it is a model that requests tools by responses', async () => {
    const model = createResponsesModel({ baseUrl, apiKey: 'k', model: 'm' }, { dispatcher });
    const signal = new AbortController().signal;
    const read = async () => {
      for await (const _part of model.stream({ messages: [], tools: [], mayCallTools: true, signal }));
    };
    await expect(read()).rejects.toThrow('sent more than any reply needs');
    expect(sent).toBeLessThan(ENOUGH_BYTES);
  });

  it('is cut off when it is a model that requests thousands of tools by responses', async () => {
    const model = createResponsesModel({ baseUrl: `${baseUrl}/short`, apiKey: 'k', model: 'm' }, { dispatcher });
    const signal = new AbortController().signal;
    const read = async () => {
      for await (const _part of model.stream({ messages: [], tools: [], mayCallTools: true, signal }));
    };
    await expect(read()).rejects.toThrow('sent more than any reply needs');
    expect(sent).toBeLessThan(500_000);
  });

  it('is cut off when it is a model that sends only empty parts', async () => {
    const account = { baseUrl: `${baseUrl}/empty`, apiKey: 'k', model: 'm' };
    const model = createChatModel(account, { dispatcher, timeoutMs: 200 });
    const signal = new AbortController().signal;
    const read = async () => {
      for await (const _part of model.stream({ messages: [], tools: [], mayCallTools: true, signal }));
    };
    await expect(read()).rejects.toThrow('did not finish its response in 2000 ms');
  }, 20_000);

  it('is cut off when it is the conclusion of a call', async () => {
    const account = { baseUrl: `${baseUrl}/json`, apiKey: 'k', model: 'm' };
    const signal = new AbortController().signal;
    const asked = createChatClient(account).requestJson({ name: 'conclusion', schema: {}, messages: [], signal });
    await expect(asked).rejects.toThrow('the summary or extraction from the model is too long');
    expect(sent).toBeLessThan(ENOUGH_BYTES);
  }, 20_000);

  it('is cut off when it is an STT, after more bytes than a transcript needs', async () => {
    const newDetector = await loadVoiceActivity();
    const callers = createSynthesizer();
    const speech = await callers.speak('Good morning.', 'rms');
    const stt = createOpenAiStt({ baseUrl, apiKey: 'k', model: 'm' }, { dispatcher, newDetector });
    const ignore = () => undefined;
    const error = await new Promise<Error>((resolve) => {
      const events = { onInterim: ignore, onProbableEnd: ignore, onTurnContinued: ignore, onEnd: ignore };
      const stream = stt.open({ language: 'en-US', settings: {} }, { ...events, onActivity: ignore, onLost: resolve });
      const audio = Buffer.concat([speech, silence(1_000)]);
      for (let at = 0; at < audio.length; at += 160) stream.push(audio.subarray(at, at + 160));
    });
    await callers.close();
    expect(error.message).toContain('sent more than any transcript needs');
    expect(sent).toBeLessThan(ENOUGH_BYTES);
  }, 20_000);

  it('is cut off when it is a TTS, after more audio than the words need', async () => {
    const tts = createOpenAiTts({ baseUrl, apiKey: 'k', model: 'm', voiceIdOf: (name) => name }, { dispatcher });
    const error = await new Promise<Error>((resolve, reject) => {
      const speech = tts.open(
        { voice: 'amber', language: 'en-US', settings: {} },
        {
          onAudio: () => undefined,
          onSpoken: () => undefined,
          onDone: () => reject(new Error('It ended.')),
          onLost: resolve,
        },
      );
      speech.say('Good morning.');
    });
    expect(error.message).toContain('sent more than any reply needs');
    expect(sent).toBeLessThan(ENOUGH_BYTES);
  }, 20_000);
});
