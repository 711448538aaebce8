import { randomUUID } from 'node:crypto';
import { parseConfig } from '../../src/platform/config/config.js';
import { environment } from '../../src/platform/config/environment.js';
import { openDatabase } from '../../src/database.js';
import { requireReplicaSet } from '../../src/platform/mongo/connection.js';
import { likeASecret, PRODUCTION } from '../support/production.js';

const rejectionOf = (env: NodeJS.ProcessEnv): string => {
  try {
    parseConfig({ ...PRODUCTION, ...env });
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

describe('production never starts with settings that expose it', () => {
  it.each([
    ['API_KEY_PEPPER', 'development-pepper-development-pepper'],
    ['TWILIO_AUTH_TOKEN', '1'.repeat(32)],
    ['TWILIO_AUTH_TOKEN', '2'.repeat(32)],
  ])('%s=%s is rejected: it is published', (name, value) => {
    expect(rejectionOf({ [name]: value })).toMatch(new RegExp(`${name} must be`));
  });

  it.each([
    'CALL_RETENTION_DAYS',
    'TRANSCRIPT_RETENTION_DAYS',
    'RECORDING_RETENTION_DAYS',
    'DELIVERY_RETENTION_DAYS',
    'CARRIER_EVENT_RETENTION_DAYS',
    'AUDIT_RETENTION_DAYS',
  ])('%s has no default, so that nothing is kept forever by mistake', (name) => {
    expect(rejectionOf({ [name]: '' })).toMatch(new RegExp(`${name} must be set in production`));
    expect(rejectionOf({ [name]: '0' })).toBe('');
  });

  it('TEMPORAL_RETENTION_DAYS has no default either, and is 7 or more', () => {
    expect(rejectionOf({ TEMPORAL_RETENTION_DAYS: '' })).toMatch(
      /TEMPORAL_RETENTION_DAYS must be set in production: .*, 7 or more\./,
    );
    expect(rejectionOf({ TEMPORAL_RETENTION_DAYS: '6' })).toMatch(/TEMPORAL_RETENTION_DAYS/);
    expect(rejectionOf({ TEMPORAL_RETENTION_DAYS: '7' })).toBe('');
  });

  it('CALL_RETENTION_DAYS=3 is rejected: the last check of a call would come later', () => {
    expect(rejectionOf({ CALL_RETENTION_DAYS: '3' })).toMatch(/CALL_RETENTION_DAYS: must be 0, or 7 or more/);
  });

  it.each([
    ['PUBLIC_BASE_URL', 'http://calls.example.com', 'https'],
    ['STREAM_URL', 'ws://calls.example.com/stream', 'wss'],
    ['STREAM_URL', 'https://calls.example.com/stream', 'wss'],
    ['CARRIER_BASE_URL', 'http://api.example.com', 'https'],
    ['SIMULATOR_URL', 'http://simulator.example.com:8082', 'https'],
    ['SIMULATOR_URL', 'http://203.0.113.9:8082', 'https'],
    ['OPENAI_BASE_URL', 'http://api.example.com/v1', 'https'],
    ['LLM_BASE_URL', 'http://api.example.com/v1', 'https'],
    ['STT_BASE_URL', 'ws://api.example.com', 'wss or https'],
    ['TTS_BASE_URL', 'ws://api.example.com', 'https or wss'],
    ['TEMPORAL_UI_URL', 'http://temporal.example.com', 'https'],
    ['RECORDING_S3_ENDPOINT', 'http://objects.example.com', 'https'],
  ])('%s=%s is rejected: %s is needed', (name, value, scheme) => {
    expect(rejectionOf({ [name]: value })).toMatch(new RegExp(`${name} must use ${scheme} in production`));
  });

  // Those with rules apart: mail, and links for people, which may have a query.
  const APART = ['SMTP_URL', 'PAYMENT_URL', 'OPERATOR_CONTACT_URL'];
  const ADDRESSES = Object.keys(environment.shape).filter(
    (name) => /_(URL|ENDPOINT)$/.test(name) && !APART.includes(name),
  );
  it.each(ADDRESSES)('%s is rejected without TLS, and with a password or a query', (name) => {
    expect(rejectionOf({ [name]: 'http://plain.example.com/v1' })).toMatch(new RegExp(`${name} must use (https|wss)`));
    for (const address of ['https://user:word@a.example.com/v1', 'https://a.example.com/v1?key=1']) {
      expect(rejectionOf({ [name]: address })).toMatch(new RegExp(`${name} must have no user name, password, query`));
    }
  });

  it.each([
    ['SIMULATOR_URL', 'http://127.0.0.1:8082'],
    ['SIMULATOR_URL', 'http://10.1.2.3:8082'],
    ['SIMULATOR_URL', 'http://[fd00::5]:8082'],
    ['SIMULATOR_URL', 'http://simulator:8082'],
    ['TEMPORAL_UI_URL', 'http://localhost:8233'],
    ['LLM_BASE_URL', 'http://127.0.0.1:8000/v1'],
    ['RECORDING_S3_ENDPOINT', 'http://minio:9000'],
  ])('%s=%s is accepted: it does not leave the private network', (name, value) => {
    expect(rejectionOf({ [name]: value })).toBe('');
  });

  it.each([
    [{ RECORDING_STORE: 's3' }, 'needs RECORDING_S3_BUCKET'],
    [{ RECORDING_S3_ACCESS_KEY_ID: 'AKIA' }, 'must be set together'],
    [{ RECORDING_S3_KMS_KEY_ID: 'alias/recordings' }, 'needs RECORDING_S3_ENCRYPTION=aws:kms'],
  ])('%j is rejected: the settings of recordings do not fit together', (env, reason) => {
    expect(rejectionOf(env)).toContain(reason);
  });

  it.each([
    ['API_KEY_PEPPER', 'change-me-change-me-change-me-change-me'],
    ['SIMULATOR_TEST_AUTH_TOKEN', 'CHANGE-ME-0123456789'],
    ['PAYMENT_WEBHOOK_SECRET', 'please-change-me-now'],
    ['OPENAI_API_KEY', 'change-me'],
    ['TEMPORAL_API_KEY', 'change-me'],
    ['MONGODB_URI', 'mongodb://root:change-me@db/callwright'],
    ['TEMPORAL_POSTGRES_PASSWORD', 'change-me'],
  ])('%s is rejected while it is a placeholder', (name, value) => {
    expect(rejectionOf({ [name]: value })).toMatch(new RegExp(`${name} still contains the placeholder change-me`));
    expect(() => parseConfig({ [name]: value, ALLOW_INSECURE_DEVELOPMENT: 'true' })).not.toThrow();
  });

  const REPEATED = 'x7'.repeat(20);
  const keyOf = (key: Buffer) => `a:${key.toString('base64')}`;

  it.each([
    ['API_KEY_PEPPER', 'a'.repeat(40)],
    ['API_KEY_PEPPER', REPEATED],
    ['API_KEY_PEPPER', 'deadbeefcafe'.repeat(3)],
    ['API_KEY_PEPPER', 'abcdefghijklmnopqrstuvwxyz0123456789'],
    ['API_KEY_PEPPER', `my-Passw0rd-${likeASecret('tail')}`],
    ['API_KEY_PEPPER', `s-e-c-r-e-t ${likeASecret('tail')}`],
    ['API_KEY_PEPPER', `Ch@ng3 M3 ${likeASecret('tail')}`],
    ['SIMULATOR_AUTH_TOKEN', 'c'.repeat(32)],
    ['SIMULATOR_TEST_AUTH_TOKEN', likeASecret('token').slice(0, 31)],
    ['PAYMENT_WEBHOOK_SECRET', likeASecret('payments').slice(0, 20)],
    ['PAYMENT_WEBHOOK_SECRET', REPEATED],
    ['TEMPORAL_POSTGRES_PASSWORD', 'postgres'],
    ['TEMPORAL_POSTGRES_PASSWORD', 'temporal-password-1234'],
    ['MONGODB_URI', 'mongodb://root:P4ssword@db1:27017,db2:27017/callwright?replicaSet=rs0'],
    ['SMTP_URL', 'smtps://mail:%73ecret@smtp.example.com'],
    ['OPENAI_API_KEY', 'CHANGEME'],
    ['ENCRYPTION_KEYS', keyOf(Buffer.alloc(32))],
    ['ENCRYPTION_KEYS', keyOf(Buffer.alloc(32, 'pattern!'))],
    ['ENCRYPTION_KEYS', keyOf(Buffer.from(Array.from({ length: 32 }, (_, index) => index)))],
    ['ENCRYPTION_KEYS', keyOf(Buffer.from('a password of thirty-two letters'))],
    ['ENCRYPTION_KEYS', `${PRODUCTION.ENCRYPTION_KEYS},old:${Buffer.alloc(32, 1).toString('base64')}`],
    ['ENCRYPTION_KEYS', `${PRODUCTION.ENCRYPTION_KEYS},again:${PRODUCTION.ENCRYPTION_KEYS.slice('test:'.length)}`],
  ])('%s=%s is rejected: it can be guessed', (name, value) => {
    const message = rejectionOf({ [name]: value, MAIL_FROM: 'a@example.com' });
    expect(message).toMatch(new RegExp(`${name} .*(openssl rand|placeholder|password)`));
    expect(message).not.toContain(value);
    expect(() =>
      parseConfig({ [name]: value, MAIL_FROM: 'a@example.com', ALLOW_INSECURE_DEVELOPMENT: 'true' }),
    ).not.toThrow();
  });

  it.each([
    ['API_KEY_PEPPER', 'PAYMENT_WEBHOOK_SECRET'],
    ['API_KEY_PEPPER', 'TEMPORAL_POSTGRES_PASSWORD'],
    ['PAYMENT_WEBHOOK_SECRET', 'SIMULATOR_AUTH_TOKEN'],
    ['SIMULATOR_AUTH_TOKEN', 'TEMPORAL_POSTGRES_PASSWORD'],
    ['API_KEY_PEPPER', 'OPENAI_API_KEY'],
  ])('%s and %s with one value are rejected', (first, second) => {
    const value = likeASecret('twice');
    const message = rejectionOf({ [first]: value, [second]: value });
    expect(message).toMatch(new RegExp(`(${first} must differ from ${second}|${second} must differ from ${first})`));
    expect(message).not.toContain(value);
  });

  it.each([
    [`${likeASecret('former')},${'a'.repeat(40)}`, 'repeats a few characters'],
    [`${likeASecret('former')},${PRODUCTION.API_KEY_PEPPER}`, 'must differ from API_KEY_PEPPER'],
  ])('API_KEY_FORMER_PEPPERS=%s is rejected: each of them is checked', (value, reason) => {
    expect(rejectionOf({ API_KEY_FORMER_PEPPERS: value })).toContain(`API_KEY_FORMER_PEPPERS ${reason}`);
  });

  it.each(['HOLD_WINDOWS=0', 'HOLD_WINDOWS=60,0', 'HOLD_WINDOWS=60,99999999', 'ANSWER_WITHIN_MS=999999'])(
    '%s is rejected: no call could be held or answered in such a time',
    (setting) => {
      const [name = '', value = ''] = setting.split('=');
      expect(rejectionOf({ [name]: value })).toContain(name);
    },
  );

  it('an encryption key that equals another secret is rejected, in any encoding', () => {
    const key = Buffer.from(likeASecret('twice'), 'hex');
    for (const text of [key.toString('base64'), key.toString('hex')]) {
      expect(rejectionOf({ ENCRYPTION_KEYS: keyOf(key), PAYMENT_WEBHOOK_SECRET: text })).toMatch(/must differ from/);
    }
  });

  it.each(['t', 'x'.repeat(32), likeASecret('twilio'), likeASecret('twilio').slice(0, 31), '0'.repeat(32)])(
    'TWILIO_AUTH_TOKEN=%s is rejected: it is not a token of Twilio',
    (value) => {
      expect(rejectionOf({ TWILIO_AUTH_TOKEN: value })).toMatch(
        /TWILIO_AUTH_TOKEN must be the token of your Twilio account/,
      );
    },
  );

  it.each([
    '0.0.0.0/0',
    '10.0.0.0/8,0.0.0.0/0',
    '::/0',
    '10.0.0.0/7',
    '127.0.0.0/8',
    '127.0.0.1/32',
    '::1/128',
    '::ffff:127.0.0.1/128',
    '169.254.0.0/16',
    '169.254.169.254/32',
    'fe80::/10',
    'fd00:ec2::254/128',
    'fc00::/7',
    '100.64.0.0/10',
    '8.8.8.8/32',
    '192.168.0.0/15',
  ])('WEBHOOK_ALLOW_CIDRS=%s is rejected: it allows more than a private network', (value) => {
    expect(rejectionOf({ WEBHOOK_ALLOW_CIDRS: value })).toMatch(
      /WEBHOOK_ALLOW_CIDRS must contain private networks only/,
    );
  });

  it.each(['10.0.0.0/8', '192.168.4.0/24, 172.16.0.0/12', 'fd12:3456:789a::/48', '100.64.0.0/16'])(
    'WEBHOOK_ALLOW_CIDRS=%s is accepted',
    (value) => {
      expect(rejectionOf({ WEBHOOK_ALLOW_CIDRS: value })).toBe('');
    },
  );

  it('TEMPORAL_API_KEY is never sent without TLS', () => {
    const key = likeASecret('temporal');
    expect(rejectionOf({ TEMPORAL_API_KEY: key })).toMatch(/TEMPORAL_API_KEY .*TEMPORAL_TLS=true/);
    expect(rejectionOf({ TEMPORAL_API_KEY: key, TEMPORAL_TLS: 'true' })).toBe('');
  });

  it.each([
    ['PUBLIC_BASE_URL', 'https://u:p@calls.example.com'],
    ['PUBLIC_BASE_URL', 'https://calls.example.com?x=1'],
    ['PUBLIC_BASE_URL', 'https://calls.example.com/#x'],
    ['STREAM_URL', 'wss://calls.example.com/stream?token=1'],
    ['CARRIER_BASE_URL', 'https://u@api.example.com'],
    ['SIMULATOR_URL', 'http://u:p@simulator:8082'],
    ['LLM_BASE_URL', 'https://llm.example.com/v1#x'],
    ['STT_BASE_URL', 'wss://u:p@stt.example.com'],
    ['TEMPORAL_UI_URL', 'https://temporal.example.com/?x'],
  ])('%s=%s is rejected: an address has no credentials, query or fragment', (name, value) => {
    expect(rejectionOf({ [name]: value })).toMatch(
      new RegExp(`${name} must have no user name, password, query or fragment`),
    );
  });

  it.each(['requireTLS=false', 'ignoreTLS=true', 'tls.rejectUnauthorized=false', 'secure=false'])(
    'SMTP_URL with ?%s is rejected: it would send links without TLS',
    (option) => {
      const SMTP_URL = `smtps://user:word@smtp.example.com/?${option}`;
      expect(rejectionOf({ SMTP_URL, MAIL_FROM: 'a@example.com' })).toMatch(/SMTP_URL must not contain/);
    },
  );

  it.each(['25', '443,25', '6665-6669', '0'])('WEBHOOK_PORTS=%s is rejected in development too', (ports) => {
    expect(() => parseConfig({ WEBHOOK_PORTS: ports })).toThrow(/WEBHOOK_PORTS/);
    expect(rejectionOf({ WEBHOOK_PORTS: ports })).toMatch(/WEBHOOK_PORTS/);
  });

  it('all errors are reported together, each with its variable', () => {
    const message = rejectionOf({
      PUBLIC_BASE_URL: 'http://calls.example.com',
      API_PORT: 'many',
      CARRIER: '',
      API_KEY_PEPPER: 'short',
      SIMULATOR_AUTH_TOKEN: '1'.repeat(32),
      ENGINE: 'pipeline',
    });
    const names = [
      'PUBLIC_BASE_URL',
      'API_PORT',
      'CARRIER',
      'API_KEY_PEPPER',
      'SIMULATOR_AUTH_TOKEN',
      'ENGINE=pipeline',
    ];
    for (const name of names) expect(message).toContain(name);
    expect(message.match(/API_KEY_PEPPER/g)).toHaveLength(1);
  });

  it('a MongoDB that is not a replica set is rejected unless the operator allows it', async () => {
    const database = await openDatabase(`${process.env.TEST_MONGODB_URI}/settings_${randomUUID()}`);
    try {
      const alone = { ...database, replicated: false };
      expect(() => requireReplicaSet(parseConfig(PRODUCTION), alone)).toThrow(/MONGODB_URI .*ALLOW_STANDALONE_MONGODB/);
      const allowed = parseConfig({ ...PRODUCTION, ALLOW_STANDALONE_MONGODB: 'true' });
      expect(() => requireReplicaSet(allowed, alone)).not.toThrow();
      expect(() => requireReplicaSet(parseConfig({}), alone)).not.toThrow();
      expect(() => requireReplicaSet(parseConfig(PRODUCTION), { ...database, replicated: true })).not.toThrow();
    } finally {
      await database.close();
    }
  });
});

describe('connections to MongoDB and Temporal', () => {
  const parse = (uri: string, more = {}) => parseConfig({ ...PRODUCTION, MONGODB_URI: uri, ...more });

  it.each([
    'mongodb://ada:pw@db.example.com/callwright',
    'mongodb://ada:pw@10.0.0.1,db.example.com:27017/callwright?replicaSet=rs0',
    'mongodb://ada:pw@203.0.113.5/?tls=false',
    'mongodb+srv://ada:pw@cluster.example.com/?tls=false',
  ])('are rejected if a password would cross a public network without TLS: %s', (uri) => {
    expect(() => parse(uri)).toThrow(/MONGODB_URI .*tls=true.*ALLOW_PLAIN_MONGODB/);
    expect(() => parse(uri)).not.toThrow(/pw@/);
    expect(parse(uri, { ALLOW_PLAIN_MONGODB: 'true' }).mongodbUri).toBe(uri);
  });

  it.each([
    'mongodb://ada:pw@db.example.com/callwright?tls=true',
    'mongodb://ada:pw@db.example.com/?ssl=true&replicaSet=rs0',
    'mongodb+srv://ada:pw@cluster.example.com/callwright',
    'mongodb://ada:pw@10.0.0.1,mongodb:27017/callwright',
    'mongodb://127.0.0.1:27017/callwright',
  ])('are accepted with TLS or inside a private network: %s', (uri) => {
    expect(parse(uri).mongodbUri).toBe(uri);
  });

  it.each(['tlsInsecure', 'tlsAllowInvalidCertificates', 'tlsAllowInvalidHostnames'])(
    'are rejected if any server could pretend to be the database: %s',
    (option) => {
      const uri = `mongodb+srv://ada:pw@cluster.example.com/callwright?${option}=true`;
      expect(() => parse(uri)).toThrow(new RegExp(`${option}=true on a public network`));
    },
  );

  it('cause a warning for Temporal on a public network without TLS', () => {
    const exposed = (address: string, more = {}) =>
      parseConfig({ ...PRODUCTION, TEMPORAL_ADDRESS: address, ...more }).temporal.exposed;
    expect(exposed('temporal.example.com:7233')).toBe(true);
    expect(exposed('temporal.example.com:7233', { TEMPORAL_TLS: 'true' })).toBe(false);
    for (const near of ['127.0.0.1:7233', 'temporal:7233', '10.0.0.7:7233']) expect(exposed(near)).toBe(false);
  });
});
