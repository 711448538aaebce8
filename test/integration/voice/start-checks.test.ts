import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Agent } from 'undici';
import { parseConfig } from '../../../src/platform/config/config.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { createAsk } from '../../../src/voice/engines/start-checks/ask.js';
import { withCheckedProviders } from '../../../src/voice/engines/start-checks/check-providers.js';
import { createOpenAiCheck } from '../../../src/voice/engines/start-checks/openai.js';
import { freePort, startRole } from '../../support/role-process';
import { openAiError, send } from './fakes/provider-lists';
import { openFakeOpenAiSpeech } from './fakes/voices';
import { checkAtStart, createFakeProviders, type AnswerRequest, type Env } from './support/start-checks-harness';

const ROLE = join(__dirname, '../../../dist/src/main.js');

const fakes = createFakeProviders();
const { openPipelineProviders, openServer } = fakes;
afterEach(() => fakes.close());

/** Settings of `openai-realtime` that the server accepts if its account has the three models. */
function realtimeEnv(port: number): Env {
  return {
    OPENAI_API_KEY: 'llm-key',
    OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
    OPENAI_REALTIME_MODEL: 'talks',
    OPENAI_TRANSCRIPTION_MODEL: 'hears',
    OPENAI_CONCLUSION_MODEL: 'sums-up',
  };
}

describe('the check of models and keys at start', () => {
  it('accepts the settings that the providers accept, without a warning', async () => {
    const { env, chat } = await openPipelineProviders();
    chat.lists.models.push('talks', 'hears', 'sums-up');
    const { message, warnings, checked, config } = await checkAtStart({ ...env, ...realtimeEnv(chat.port) });
    expect({ message, warnings }).toEqual({ message: undefined, warnings: [] });
    expect(checked).toBe(config);
  });

  it('asks no one without keys', async () => {
    const { checked, config, lines } = await checkAtStart({});
    expect(checked).toBe(config);
    expect(lines).toEqual([]);
  });

  it.each([
    ['OPENAI_REALTIME_MODEL', 'OPENAI_BASE_URL'],
    ['OPENAI_TRANSCRIPTION_MODEL', 'OPENAI_BASE_URL'],
    ['OPENAI_CONCLUSION_MODEL', 'OPENAI_BASE_URL'],
    ['LLM_MODEL', 'LLM_BASE_URL'],
  ])('names %s if the provider has no such model', async (name, url) => {
    const { env, chat } = await openPipelineProviders();
    chat.lists.models.push('talks', 'hears', 'sums-up');
    const { message, warnings } = await checkAtStart({ ...env, ...realtimeEnv(chat.port), [name]: 'nova-33' });
    expect(message).toBe(
      `The configuration is invalid. ${name}: the provider at ${url} has no model "nova-33" for this key. ` +
        `Set ${name} to one of its models.`,
    );
    expect(warnings).toEqual([]);
  });

  it.each([
    ['STT_MODEL', 'nova-33', 'model not in the list of public models'],
    ['TTS_MODEL', 'eleven_v9', 'model not in the list of the account'],
  ])('only warns of %s that is not in a list, because it may be newer than the list', async (name, model, why) => {
    const { env } = await openPipelineProviders();
    const { message, warnings } = await checkAtStart({ ...env, [name]: model });
    expect({ message, warnings }).toEqual({ message: undefined, warnings: [`${name}: ${why}`] });
  });

  it.each([
    ['STT_2_API_KEY', 'a-wrong-key', 'the provider at STT_2_BASE_URL rejects this key'],
    ['LLM_2_API_KEY', 'a-wrong-key', 'the provider at LLM_2_BASE_URL rejects this key'],
    ['LLM_3_MODEL', 'gpt-0', 'the provider at LLM_3_BASE_URL has no model "gpt-0" for this key'],
    ['TTS_2_API_KEY', 'a-wrong-key', 'the provider at TTS_2_BASE_URL rejects this key'],
    ['TTS_2_VOICES', 'amber=gone', 'the account of TTS_2_API_KEY has no voice "gone", which is set for amber'],
  ])('names %s of an alternative', async (name, value, fault) => {
    const { env } = await openPipelineProviders();
    const alternatives: Env = { TTS_2_VOICES: 'amber=voice-amber' };
    const accounts = [
      ['STT', 'deepgram', 'DEEPGRAM_API_KEY', 'nova-3', 2],
      ['LLM', 'openai', 'LLM_API_KEY', 'test-model', 2],
      ['LLM', 'openai', 'LLM_API_KEY', 'test-model', 3],
      ['TTS', 'elevenlabs', 'ELEVENLABS_API_KEY', 'test-voice-v2_5', 2],
    ] as const;
    for (const [stage, provider, key, model, number] of accounts) {
      alternatives[`${stage}_${number}_PROVIDER`] = provider;
      alternatives[`${stage}_${number}_BASE_URL`] = env[`${stage}_BASE_URL`] ?? '';
      alternatives[`${stage}_${number}_API_KEY`] = env[key] ?? '';
      alternatives[`${stage}_${number}_MODEL`] = model;
    }
    expect((await checkAtStart({ ...env, ...alternatives })).message).toBeUndefined();
    const { message } = await checkAtStart({ ...env, ...alternatives, [name]: value });
    expect(message).toContain(`The configuration is invalid. ${name}: ${fault}.`);
  });

  it.each([
    ['OPENAI_API_KEY', 'OPENAI_BASE_URL'],
    ['LLM_API_KEY', 'LLM_BASE_URL'],
    ['DEEPGRAM_API_KEY', 'STT_BASE_URL'],
    ['ELEVENLABS_API_KEY', 'TTS_BASE_URL'],
  ])('names %s once, without the key, if the provider rejects it', async (name, url) => {
    const { env, chat } = await openPipelineProviders();
    chat.lists.models.push('talks', 'hears', 'sums-up');
    const { message } = await checkAtStart({ ...env, ...realtimeEnv(chat.port), [name]: 'a-wrong-key' });
    expect(message).toBe(
      `The configuration is invalid. ${name}: the provider at ${url} rejects this key. ` +
        `Set ${name} to a valid key of this provider.`,
    );
  });

  it('warns of a model whose shutdown is announced, with the date', async () => {
    const { env, chat } = await openPipelineProviders();
    chat.lists.shutdownDates['test-model'] = '2027-01-20';
    const { message, lines } = await checkAtStart(env);
    expect(message).toBeUndefined();
    const warned = lines.filter(({ level }) => Number(level) >= 40);
    expect(warned).toEqual([expect.objectContaining({ setting: 'LLM_MODEL', shutdownDate: '2027-01-20' })]);
  });

  it.each([
    [
      'openai',
      ['LLM_MODEL: it always reasons, and rejects tools on /chat/completions; use LLM_PROVIDER=openai-responses'],
    ],
    ['openai-responses', []],
  ])('warns of a model that cannot call tools with LLM_PROVIDER=%s', async (provider, expected) => {
    const { env, chat } = await openPipelineProviders();
    chat.lists.models.push('gpt-6-astra');
    const { message, warnings } = await checkAtStart({ ...env, LLM_PROVIDER: provider, LLM_MODEL: 'gpt-6-astra' });
    expect({ message, warnings }).toEqual({ message: undefined, warnings: expected });
  });

  it('names all faults at once', async () => {
    const { env } = await openPipelineProviders();
    const { message } = await checkAtStart({
      ...env,
      LLM_MODEL: 'x',
      DEEPGRAM_API_KEY: 'wrong',
      ELEVENLABS_API_KEY: 'wrong',
    });
    for (const name of ['LLM_MODEL: ', 'DEEPGRAM_API_KEY: ', 'ELEVENLABS_API_KEY: ']) expect(message).toContain(name);
  });

  it('names STT_MODEL and STT_API_KEY of OpenAI-compatible transcriptions', async () => {
    const { env, chat } = await openPipelineProviders();
    const openai: Env = { ...env, STT_PROVIDER: 'openai', STT_BASE_URL: `http://127.0.0.1:${chat.port}/v1` };
    const right = { ...openai, STT_API_KEY: 'llm-key', STT_MODEL: 'test-model' };
    expect(await checkAtStart(right)).toMatchObject({ message: undefined, warnings: [] });
    expect((await checkAtStart({ ...right, STT_MODEL: 'x' })).message).toContain('STT_MODEL: ');
    expect((await checkAtStart({ ...openai, STT_MODEL: 'test-model' })).message).toBe(
      'The configuration is invalid. STT_API_KEY: the provider at STT_BASE_URL needs a key. Set STT_API_KEY to a valid key ' +
        'of this provider.',
    );
  });

  it('names TTS_MODEL and TTS_API_KEY of an OpenAI-compatible text to speech', async () => {
    const { env } = await openPipelineProviders();
    const speech = fakes.kept(await openFakeOpenAiSpeech());
    const openai = {
      ...env,
      TTS_PROVIDER: 'openai',
      TTS_BASE_URL: `http://127.0.0.1:${speech.port}/v1`,
      TTS_VOICES: 'cobalt=voice-amber',
    };
    const { message, warnings, lines } = await checkAtStart({ ...openai, TTS_API_KEY: 'tts-key' });
    expect({ message, warnings }).toEqual({ message: undefined, warnings: [] });
    expect(speech.texts).toEqual(['Hello.']);
    expect(lines).toContainEqual(
      expect.objectContaining({
        setting: 'TTS_BASE_URL',
        host: `127.0.0.1:${speech.port}`,
        msg: 'calls use a server other than the provider’s own',
      }),
    );
    expect((await checkAtStart({ ...openai, TTS_API_KEY: 'tts-key', TTS_MODEL: 'x' })).message).toContain(
      'TTS_MODEL: ',
    );
    expect((await checkAtStart({ ...openai, TTS_API_KEY: 'wrong' })).message).toContain('TTS_API_KEY: ');
  });
});

describe('a provider that does not say whether a model exists', () => {
  const llm = (port: number, model = 'm'): Env => ({ LLM_BASE_URL: `http://127.0.0.1:${port}/v1`, LLM_MODEL: model });

  /** The checks with this server as the language model, and fakes for the rest. */
  async function checkWithLlm(answer: AnswerRequest, model?: string) {
    const { env } = await openPipelineProviders();
    const server = await openServer(answer);
    return checkAtStart({ ...env, ...llm(server.port, model) });
  }

  const forbidden = openAiError(
    'You have insufficient permissions for this operation. Missing scopes: api.model.read.',
    null,
  );
  it.each<[string, AnswerRequest, string]>([
    ['does not implement it', (_, response) => response.writeHead(501).end(), 'status 501'],
    ['is overloaded', (_, response) => response.writeHead(503).end(), 'status 503'],
    ['answers other JSON', (_, response) => void send(response, 200, { ok: true }), 'unexpected response'],
    ['answers null', (_, response) => void send(response, 200, null), 'unexpected response'],
    [
      'hides the list from the key, 403',
      (_, response) => void send(response, 403, forbidden),
      'the key may not read models',
    ],
    [
      'hides the list from the key, 401',
      (_, response) => void send(response, 401, forbidden),
      'the key may not read models',
    ],
    [
      'hides it with a text',
      (_, response) => void send(response, 401, { error: 'You have insufficient permissions for this operation.' }),
      'the key may not read models',
    ],
  ])('is a warning if it %s', async (_case, answer, reason) => {
    const { message, warnings } = await checkWithLlm(answer);
    expect({ message, warnings }).toEqual({ message: undefined, warnings: [`LLM_MODEL: ${reason}`] });
  });

  it.each<[string, AnswerRequest, string]>([
    ['has neither list', (_, response) => response.writeHead(404).end('not found'), 'status 404'],
    ['answers a web page', (_, response) => response.writeHead(200).end('<html>'), 'unexpected response'],
    ['redirects', (_, response) => response.writeHead(302, { location: '/elsewhere' }).end(), 'failed request'],
    ['answers nothing', () => undefined, 'no response in time'],
    ['breaks off', (_, response) => response.destroy(), 'UND_ERR_SOCKET'],
  ])('is a warning that names the address if it %s', async (_case, answer, reason) => {
    const { message, warnings } = await checkWithLlm(answer);
    expect({ message, warnings }).toEqual({ message: undefined, warnings: [`LLM_BASE_URL: ${reason}`] });
  });

  it('is a warning if it sends too much', async () => {
    const { message, warnings } = await checkWithLlm((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const fill = () => {
        while (response.write(Buffer.alloc(65_536, ' ')));
        response.once('drain', fill);
      };
      fill();
    });
    expect(message).toBeUndefined();
    expect(warnings).toHaveLength(1);
  });

  it('is a warning if no server listens', async () => {
    const { env } = await openPipelineProviders();
    const closed = await freePort();
    const { message, warnings } = await checkAtStart({ ...env, ...llm(closed) });
    expect({ message, warnings }).toEqual({ message: undefined, warnings: ['LLM_BASE_URL: ECONNREFUSED'] });
  });

  it('is asked for its list if it has no route for one model', async () => {
    const onlyList = (request: IncomingMessage, response: ServerResponse) => {
      if (request.url !== '/v1/models') return void send(response, 404, { detail: 'Not Found' });
      return void send(response, 200, { object: 'list', data: [{ id: 'org/m', object: 'model' }] });
    };
    expect(await checkWithLlm(onlyList, 'org/m')).toMatchObject({ message: undefined, warnings: [] });
    // LiteLLM's wildcards and aliases of other gateways are not in their lists.
    expect(await checkWithLlm(onlyList, 'alias')).toMatchObject({
      message: undefined,
      warnings: ['LLM_MODEL: model not in the list of the server'],
    });
  });

  it('is asked only about the key on Azure, where models are deployments', async () => {
    const paths: (string | undefined)[] = [];
    const { port } = await openServer((request, response) => {
      paths.push(request.url);
      if (request.headers.authorization === 'Bearer good') return void send(response, 200, { data: [{ id: 'gpt-6' }] });
      return void send(response, 401, {
        error: { code: '401', message: 'Access denied due to invalid subscription key' },
      });
    });
    const lookup = (
      _name: string,
      _options: unknown,
      done: (error: null, found: { address: string; family: 4 }[]) => void,
    ) => done(null, [{ address: '127.0.0.1', family: 4 }]);
    const dispatcher = new Agent({ connect: { lookup: lookup as never } });
    const ask = createAsk({ dispatcher, signal: AbortSignal.timeout(2_000) });
    const question = {
      baseUrl: `http://resource.openai.azure.com:${port}/openai/v1`,
      model: 'my-deployment',
      names: { key: 'LLM_API_KEY', url: 'LLM_BASE_URL', model: 'LLM_MODEL' },
    };
    expect(await createOpenAiCheck(ask)({ ...question, apiKey: 'good' })).toEqual([]);
    expect(await createOpenAiCheck(ask)({ ...question, apiKey: 'bad' })).toMatchObject([{ kind: 'fault' }]);
    expect(paths).toEqual(['/openai/v1/models', '/openai/v1/models']);
    await dispatcher.destroy();
  });

  it('is a fault if a project may not use the model', async () => {
    const message = 'Project `proj_1` does not have access to model `m`';
    const answer = (_: unknown, response: ServerResponse) =>
      void send(response, 403, openAiError(message, 'model_not_found'));
    expect((await checkWithLlm(answer)).message).toContain('LLM_MODEL: ');
  });

  it('takes 3 s at most, however many settings it is asked about', async () => {
    const { env, stt, chat, tts } = await openPipelineProviders();
    for (const fake of [stt, chat, tts]) fake.hang();
    const startedAt = Date.now();
    const { message, warnings } = await checkAtStart({ ...env, ...realtimeEnv(chat.port) });
    expect(Date.now() - startedAt).toBeLessThan(7_000);
    expect(message).toBeUndefined();
    expect(warnings.map((line) => line.replace(/:.*/, '')).toSorted()).toEqual([
      'LLM_BASE_URL',
      'OPENAI_BASE_URL',
      'STT_BASE_URL',
      'TTS_BASE_URL',
    ]);
  });
});

describe('a process that is stopped during the checks', () => {
  it('does not wait for the providers', async () => {
    const { env, stt, chat, tts } = await openPipelineProviders();
    for (const fake of [stt, chat, tts]) fake.hang();
    const stopping = new AbortController();
    const logger = createLogger({ role: 'media', level: 'silent' });
    const checked = withCheckedProviders(parseConfig(env), { logger, stop: stopping.signal });
    const startedAt = Date.now();
    setTimeout(() => stopping.abort(), 100);
    await expect(checked).rejects.toThrow('aborted');
    expect(Date.now() - startedAt).toBeLessThan(2_800);
  });
});

describe('the check of Deepgram', () => {
  it.each(['nova-3', 'nova-3-general', 'nova-2', 'flux-general-en'])('finds %s in the list', async (model) => {
    const { env } = await openPipelineProviders();
    expect(await checkAtStart({ ...env, STT_MODEL: model })).toMatchObject({ message: undefined, warnings: [] });
  });

  it('only warns of a name that can be that of a custom model', async () => {
    const { env } = await openPipelineProviders();
    const custom = '12345678-1234-1234-1234-1234567890ab';
    expect(await checkAtStart({ ...env, STT_MODEL: custom })).toMatchObject({
      message: undefined,
      warnings: ['STT_MODEL: model not in the list of public models'],
    });
  });

  it('only warns if a server with its protocol has no lists', async () => {
    const { env } = await openPipelineProviders();
    const { port } = await openServer((_, response) => response.writeHead(404).end());
    const { message, warnings } = await checkAtStart({ ...env, STT_BASE_URL: `ws://127.0.0.1:${port}` });
    expect(message).toBeUndefined();
    expect(warnings).toEqual(['STT_BASE_URL: status 404']);
  });
});

describe('a media process', () => {
  it('does not start with a model that its provider does not have, and says so', async () => {
    const { env } = await openPipelineProviders();
    const child = spawn(process.execPath, [ROLE, 'media'], {
      // No database listens, so the process would wait for it.
      env: { PATH: process.env['PATH'], ...env, LLM_MODEL: 'gone', MONGODB_URI: 'mongodb://127.0.0.1:9/x' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const errors: Buffer[] = [];
    child.stderr.on('data', (chunk: Buffer) => void errors.push(chunk));
    const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
    const [code] = (await once(child, 'close')) as [number | null];
    clearTimeout(timer);
    expect(Buffer.concat(errors).toString('utf8')).toContain(
      'LLM_MODEL: the provider at LLM_BASE_URL has no model "gone" for this key. Set LLM_MODEL to one of its models.',
    );
    expect(code).toBe(1);
  }, 30_000);

  it('starts although a provider is down, and finds the voices that it needs', async () => {
    const { env, tts } = await openPipelineProviders();
    const media = await startRole('media', {
      ...env,
      TTS_VOICES: '',
      LLM_BASE_URL: `http://127.0.0.1:${await freePort()}/v1`,
      LOG_LEVEL: 'silent',
      MEDIA_PORT: String(await freePort()),
      MONGODB_URI: `${process.env['TEST_MONGODB_URI']}/start_checks`,
      TEMPORAL_ADDRESS: process.env['TEST_TEMPORAL_ADDRESS'],
    });
    expect(media.isRunning()).toBe(true);
    expect(tts.lists.asked).toContain('/v2/voices');
    await media.kill();
  }, 60_000);
});
