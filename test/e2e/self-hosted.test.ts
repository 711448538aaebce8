import { launch, type Launched } from '../support/dev-stack.js';
import { openSelfHosted, type SelfHosted } from '../support/self-hosted';

jest.setTimeout(300_000);

describe('the demo with one self-hosted server for speech to text, the model and text to speech', () => {
  let server: SelfHosted;
  let demo: Launched;
  beforeAll(async () => {
    server = await openSelfHosted();
  });
  afterEach(() => demo.destroy());
  afterAll(() => server.close());

  it('holds a free conversation in both calls, without any key', async () => {
    const { baseUrl } = server;
    demo = await launch({
      command: 'demo',
      args: ['--engine', 'pipeline'],
      env: {
        ...{ STT_PROVIDER: 'openai', STT_BASE_URL: baseUrl, STT_MODEL: 'whisper-small' },
        ...{ LLM_BASE_URL: baseUrl, LLM_MODEL: 'test-model' },
        ...{ TTS_PROVIDER: 'openai', TTS_BASE_URL: baseUrl, TTS_MODEL: 'kokoro', TTS_VOICES: 'amber=af_heart' },
      },
    });
    const code = await demo.exited;
    const output = demo.output();
    expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('talked freely with pipeline') });
    expect(output.match(/caller: four one five two/g)).not.toBeNull();
    expect(output.match(/agent: The afternoon it is/g)).toHaveLength(2);
    expect(output.match(/extracted {3}\{"appointment_confirmed":true,"confirmation_code":"4152"/g)).toHaveLength(2);
    expect(server.transcriptions.invalid).toEqual([]);
    expect(server.transcriptions.requests.length).toBeGreaterThanOrEqual(8);
    expect(server.spoken.length).toBeGreaterThanOrEqual(10);
    expect(new Set(server.authorizations)).toEqual(new Set([undefined]));
  });
});
