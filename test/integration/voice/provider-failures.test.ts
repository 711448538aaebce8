import { observe } from '../../../src/platform/telemetry/measurements.js';
import type { ProviderFailure } from '../../../src/voice/engines/port.js';
import { openProviderConnection } from '../../../src/voice/engines/realtime/connection.js';
import type { FullSessionSettings } from '../../../src/voice/engines/realtime/protocol.js';
import type { OpenAiRejection } from './fakes/openai-errors';
import { eventually, openMediaFixture } from './support/media-fixture';
import { GREETING, openPipeline, type PipelineHarness, type PipelineOptions } from './support/pipeline-harness';
import { ANSWER_MS, placeRealtimeCall } from './support/realtime-call';

const QUESTION = 'What do you know?';

/** The only texts of a call that occur in these tests; no failure may quote them. */
function expectNoSpeechIn(failures: readonly ProviderFailure[]): void {
  const text = JSON.stringify(failures);
  for (const secret of [GREETING, QUESTION, 'appointment of tomorrow', '-key', 'org-a1b2c3'])
    expect(text).not.toContain(secret);
}

/** Rejects the first request, because its prompt is too long for the model. */
function onceTooLong(): () => OpenAiRejection | undefined {
  let count = 0;
  const error = { type: 'invalid_request_error', code: 'context_length_exceeded', param: 'messages' };
  return () => {
    count += 1;
    return count > 1 ? undefined : { status: 400, error: { ...error, message: 'The prompt is too long.' } };
  };
}

describe('a failure of a provider of the pipeline engine', () => {
  let pipeline: PipelineHarness;
  let line: ReturnType<PipelineHarness['dial']>;
  afterEach(async () => {
    await line.hangUp();
    expectNoSpeechIn(line.failures);
    await pipeline.close();
  });

  async function warmPipeline(options?: PipelineOptions): Promise<void> {
    pipeline = await openPipeline(options);
    await pipeline.factory.warm();
  }

  it('of the language model is reported with its code and request id, though a repetition succeeds', async () => {
    await warmPipeline();
    pipeline.chat.faults.push({ kind: 'status', status: 429, headers: { 'retry-after': '0' } });
    line = pipeline.dial();
    await eventually(() => line.agentTurns().length === 1, ANSWER_MS);
    expect(line.agentTurns()).toEqual([GREETING]);
    expect(line.failures).toEqual([
      {
        part: 'model',
        what: 'the language model provider responded with status 429',
        provider: 'openai',
        status: 429,
        code: 'rate_limit_exceeded',
        requestId: expect.stringMatching(/^req_\d+$/),
        message: expect.stringMatching(/^Rate limit reached for gpt-6-luna in organization … on requests/),
      },
    ]);
    expect(line.blames).toEqual(['provider']);
  });

  it('of the language model that the call caused by its content is not blamed on the provider', async () => {
    await warmPipeline();
    pipeline.chat.rejects = onceTooLong();
    line = pipeline.dial();
    await eventually(() => line.agentTurns().length === 1, ANSWER_MS);
    expect(line.failures).toMatchObject([{ part: 'model', status: 400, code: 'context_length_exceeded' }]);
    expect(line.blames).toEqual(['request']);
  });

  it('of the language model is reported once for each attempt', async () => {
    await warmPipeline({ llm: { apiKey: 'wrong-key' } });
    line = pipeline.dial();
    await eventually(() => line.failed !== undefined, ANSWER_MS);
    expect(line.failures).toHaveLength(2);
    for (const failure of line.failures) expect(failure).toMatchObject({ status: 401, code: 'invalid_api_key' });
  });

  it('that a stream of /responses reports has its code', async () => {
    await warmPipeline({ llmProvider: 'openai-responses' });
    pipeline.responses.faults.push({ kind: 'failed', code: 'server_is_overloaded' });
    line = pipeline.dial();
    await eventually(() => line.agentTurns().length === 1, ANSWER_MS);
    expect(line.failures).toEqual([
      expect.objectContaining({
        what: 'the language model provider reported server_is_overloaded',
        code: 'server_is_overloaded',
      }),
    ]);
  });

  it('of the text-to-speech provider is reported', async () => {
    await warmPipeline({ voiceProvider: 'openai' });
    let isFirst = true;
    pipeline.tts.faultOf = (text) => {
      if (!isFirst || !GREETING.startsWith(text)) return undefined;
      isFirst = false;
      return { kind: 'status', status: 500 };
    };
    line = pipeline.dial();
    await eventually(() => line.agentTurns().length === 1, ANSWER_MS);
    expect(line.failures).toEqual([
      {
        part: 'voice',
        what: 'the text-to-speech provider responded with status 500',
        provider: 'openai',
        status: 500,
        code: 'server_error',
        requestId: expect.stringMatching(/^req_/),
        message: 'The server had an error while processing your request. Sorry about that!',
      },
    ]);
  });

  it('of the speech-to-text provider is reported with the headers of a rejected connection', async () => {
    await warmPipeline();
    const headers = { 'dg-request-id': '1f-2', 'dg-error': 'Too many requests.' };
    pipeline.stt.faults.push({ kind: 'refuse', status: 429, headers });
    line = pipeline.dial();
    await eventually(() => line.agentTurns().length === 1 && line.failures.length > 0, ANSWER_MS);
    expect(line.failures).toEqual([
      {
        part: 'recogniser',
        what: 'the speech-to-text provider rejected the connection with status 429',
        provider: 'deepgram',
        status: 429,
        requestId: '1f-2',
        message: 'Too many requests.',
      },
    ]);
  });
});

describe('a failure of the realtime provider', () => {
  it('to accept a connection is reported without its address, which is the operator’s', async () => {
    const why = await new Promise((resolve) =>
      openProviderConnection({
        url: 'ws://127.0.0.1:1/v1/realtime?model=gpt-realtime-2.1',
        apiKey: 'test-key',
        session: {} as FullSessionSettings,
        handlers: { onReady: jest.fn(), onEvent: jest.fn(), onLost: resolve, onRejected: jest.fn() },
      }),
    );
    expect(why).toBe('the connection failed: ECONNREFUSED');
  });

  it('is reported with its code and the session it happened in, and the call continues', async () => {
    const call = await placeRealtimeCall({ script: [{ hears: QUESTION, says: 'Nothing.' }] });
    await call.greeted();
    call.session().send({
      type: 'error',
      error: { type: 'server_error', code: 'server_error', message: 'The server had an error.', param: null },
    });
    await call.ask(QUESTION);
    await call.line.hangUp();
    expectNoSpeechIn(call.line.failures);
    expect(call.line.failures).toEqual([
      {
        part: 'realtime',
        what: 'the provider reported an error',
        provider: 'openai',
        code: 'server_error',
        requestId: expect.stringMatching(/^sess_/),
        message: 'The server had an error.',
      },
    ]);
    expect(call.line.blames).toEqual(['provider']);
    await call.close();
  });

  it('that the call caused by its content is not blamed on the provider', async () => {
    const call = await placeRealtimeCall({ script: [{ hears: QUESTION, says: 'Nothing.' }] });
    await call.greeted();
    const error = { type: 'invalid_request_error', message: 'The prompt was flagged.', param: null };
    call.session().send({ type: 'error', error: { ...error, code: 'invalid_prompt' } });
    await call.ask(QUESTION);
    await call.line.hangUp();
    expect(call.line.failures).toMatchObject([{ part: 'realtime', code: 'invalid_prompt' }]);
    expect(call.line.blames).toEqual(['request']);
    await call.close();
  });

  it('to create a response is reported once for each attempt, also if the session is given up', async () => {
    const call = await placeRealtimeCall({ nasty: { failResponses: 2 } });
    await call.greeted();
    const failure = {
      part: 'realtime',
      what: 'the provider failed to create a response',
      provider: 'openai',
      code: 'server_error',
      requestId: expect.stringMatching(/^sess_/),
      message: 'The server had an error while processing your request.',
    };
    expect(call.line.failures).toEqual([failure, failure]);
    await call.close();
  });

  it('to report the end of a turn is noticed by the caller’s silence; the call continues, and ends at the second time', async () => {
    const call = await placeRealtimeCall({ nasty: { missesTurnEnds: true }, timings: { turnEndGraceMs: 300 } });
    await call.greeted();
    await call.ask(QUESTION);
    expect(call.fake.sessions).toHaveLength(2);
    call.line.say(await call.speech(QUESTION));
    await eventually(() => call.line.failed !== undefined, ANSWER_MS);
    expect(call.line.agentTurns().at(-1)).toMatch(/^I am sorry/);
    const failure = { part: 'realtime', what: 'the provider did not report the end of a turn', provider: 'openai' };
    expect(call.line.failures).toEqual([failure, failure]);
    await call.close();
  });

  it('is reported at once to another engine; if that does not continue the call, it is still summarized', async () => {
    const call = await placeRealtimeCall({
      nasty: { missesTurnEnds: true },
      timings: { turnEndGraceMs: 300 },
      call: { hasSuccessor: true },
    });
    await call.greeted();
    call.line.say(await call.speech(QUESTION));
    await eventually(() => call.line.failed !== undefined, ANSWER_MS);
    expect(call.fake.sessions).toHaveLength(1);
    expect((await call.line.hangUp()).summary).toBe('The appointment was talked about.');
    await call.close();
  });

  it('to conclude the call is reported', async () => {
    const call = await placeRealtimeCall({ script: [{ hears: QUESTION, says: 'Nothing.' }] });
    call.fake.concludeBy(() => ({ status: 400, text: '{"error":{"message":"No.","code":"content_policy"}}' }));
    await call.greeted();
    await call.ask(QUESTION);
    await call.line.hangUp();
    expect(call.line.failures).toEqual([
      {
        part: 'model',
        what: 'no summary and values: the model responded with status 400',
        provider: 'openai',
        status: 400,
        code: 'content_policy',
        message: 'No.',
      },
    ]);
    await call.close();
  });
});

describe('a failure of a provider in a stored call', () => {
  it.each([
    [429, 'provider'],
    [400, 'request'],
  ])('is stored with its time for the timeline, and counted: status %d has the blame %s', async (status, blame) => {
    const counted: object[] = [];
    const forget = observe('providerFailure', (failure) => void counted.push(failure));
    const pipeline = await openPipeline();
    const media = await openMediaFixture({ engine: pipeline.factory });
    if (blame === 'request') pipeline.chat.rejects = onceTooLong();
    else pipeline.chat.faults.push({ kind: 'status', status });
    const call = await media.placeCall();
    const line = await media.openLine(call);
    await eventually(async () => ((await media.results.find(call.callId))?.turns ?? []).length === 1, ANSWER_MS);
    expect((await media.results.findHead(call.callId))?.failures).toEqual([
      expect.objectContaining({ at: expect.any(Date), part: 'model', status }),
    ]);
    forget();
    expect(counted).toEqual([{ mode: 'live', part: 'model', provider: 'openai', blame }]);
    await media.close();
    await line.closed;
    await pipeline.close();
  });
});
