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
        STT_PROVIDER: 'openai',
        STT_BASE_URL: baseUrl,
        STT_MODEL: 'whisper-small',
        LLM_BASE_URL: baseUrl,
        // The fake of the model knows only names of OpenAI.
        LLM_MODEL: 'gpt-6-luna',
        TTS_PROVIDER: 'openai',
        TTS_BASE_URL: baseUrl,
        TTS_MODEL: 'kokoro',
        TTS_VOICES: 'amber=af_heart',
      },
    });
    const code = await demo.exited;
    const output = demo.output();
    expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('talked freely with pipeline') });
    expect(output.match(/^ {4}caller: four one five two$/gm)).not.toBeNull();
    expect(output.match(/^ {4}agent: The afternoon it is/gm)).toHaveLength(2);
    const extracted = '{"appointment_confirmed":true,"confirmation_code":"4152","preferred_time":"afternoon"}';
    expect(output.match(/^ {2}extracted {3}(.*)$/gm)).toEqual([0, 1].map(() => `  extracted   ${extracted}`));
    expect(server.transcriptions.invalid).toEqual([]);
    expect(server.transcriptions.requests.length).toBeGreaterThanOrEqual(8);
    expect(server.spoken.length).toBeGreaterThanOrEqual(10);
    expect(new Set(server.authorizations)).toEqual(new Set([undefined]));
  });
});
