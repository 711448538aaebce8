import { environment } from '../../src/platform/config/environment.js';
import { SECRETS } from '../../src/platform/config/secret-variables.js';

/** Words at the end of the names of variables with secrets. */
const NAMES_OF_SECRETS = /_(KEYS?|TOKEN|SECRET|PASSWORD|PEPPER)$/;

describe('the variables with secrets', () => {
  const names = SECRETS.map(({ variable }) => variable);

  it('declare it, so that production compares them with each other and rejects weak ones', () => {
    const all = Object.keys(environment.shape);
    const likely = all.filter((name) => NAMES_OF_SECRETS.test(name));
    expect(likely.length).toBeGreaterThan(15);
    expect(likely.filter((name) => !(names as string[]).includes(name))).toEqual([]);
  });

  it('are those that providers issue, those that the operator creates, and URLs with a password', () => {
    const kinds = Object.fromEntries(
      SECRETS.map(({ variable, secret }) => [variable, typeof secret === 'string' ? secret : secret.least]),
    );
    expect(kinds).toMatchObject({
      MONGODB_URI: 'password',
      SMTP_URL: 'password',
      ENCRYPTION_KEYS: 'keys',
      API_KEY_PEPPER: 32,
      PAYMENT_WEBHOOK_SECRET: 32,
      SIMULATOR_AUTH_TOKEN: 32,
      SIMULATOR_TEST_AUTH_TOKEN: 32,
      TEMPORAL_POSTGRES_PASSWORD: 16,
      TEMPORAL_API_KEY: 'given',
      TWILIO_AUTH_TOKEN: 'given',
      TWILIO_API_KEY_SECRET: 'given',
      OPENAI_API_KEY: 'given',
      DEEPGRAM_API_KEY: 'given',
      LLM_API_KEY: 'given',
      LLM_3_API_KEY: 'given',
    });
  });
});
