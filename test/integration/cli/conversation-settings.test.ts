import { startService, type Service } from '../../support/http/harness.js';
import { environmentWith } from '../../support/settings-matrix.js';
import { runCli } from './support/run-cli.js';

describe('the settings of a conversation on the command line', () => {
  let service: Service;
  let env: NodeJS.ProcessEnv;
  beforeAll(async () => {
    service = await startService({ worker: false, env: { ...environmentWith('deepgram-flux'), ENGINE: 'pipeline' } });
    const { liveKey } = await service.customer(0);
    env = { CALLWRIGHT_URL: service.baseUrl, CALLWRIGHT_API_KEY: liveKey };
  });
  afterAll(() => service.close());

  const CREATE = ['agents', 'create', '--name', 'A', '--instruction', 'B'];

  async function json(...args: string[]): Promise<Record<string, unknown>> {
    const { code, stdout, stderr } = await runCli([...args, '--json'], env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as Record<string, unknown>;
  }

  it('are given as options, and cleared', async () => {
    const first = ['--first-message', 'Hello.', '--first-speaker', 'caller', '--temperature', '0.7'];
    const speech = ['--speech-speed', '1.1', '--pronunciation', 'Nginx=engine X', 'a=b=c', '--keyterm', 'Callwright'];
    const turns = ['--end-of-turn-silence', '700', '--no-resume-after-noise'];
    const created = await json(...CREATE, ...first, ...speech, ...turns);
    expect(created).toMatchObject({
      first_message: 'Hello.',
      first_speaker: 'caller',
      temperature: 0.7,
      speech_speed: 1.1,
      pronunciations: [
        { text: 'Nginx', spoken: 'engine X' },
        { text: 'a', spoken: 'b=c' },
      ],
      keyterms: ['Callwright'],
      end_of_turn_silence_ms: 700,
      resume_after_noise: false,
    });
    const clear = ['--clear', 'speech-speed', 'pronunciations', 'keyterms', 'resume-after-noise'];
    const changed = await json('agents', 'update', String(created['agent_id']), ...clear);
    expect(changed).toMatchObject({ temperature: 0.7 });
    for (const gone of ['speech_speed', 'pronunciations', 'keyterms', 'resume_after_noise']) {
      expect(changed).not.toHaveProperty(gone);
    }
  });

  it.each([
    ['--pronunciation', 'Nginx', /^error: --pronunciation must be like Nginx="engine X", not Nginx/],
    ['--temperature', 'hot', /The value must be a number like 0\.7\./],
    ['--temperature', '3', /^error: --temperature: .*must be a number from 0 to 2/],
    ['--noise-reduction', 'near_field', /^error: --noise-reduction: .*pipeline does not support it/],
  ])('are rejected with the name of the option: %s %s', async (option, value, sentence) => {
    const { code, stderr } = await runCli([...CREATE, option, value], env);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(sentence) as string });
  });
});
