import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { payloadKeys } from '../../src/platform/config/temporal/payload-keys.js';
import { createPayloadCodec } from '../../src/platform/temporal/payload-codec.js';
import { parseConfig } from '../../src/platform/config/config.js';
import { likeASecret, PRODUCTION } from '../support/production.js';

const keyOf = (id: string) => `${id}:${Buffer.from(likeASecret(`payload ${id}`), 'hex').toString('base64')}`;
const [OLD, NEW] = [keyOf('old'), keyOf('new')];
const codecOf = (list?: string) => createPayloadCodec(payloadKeys(list));
const PAYLOAD = defaultPayloadConverter.toPayload({ account: 'acct_1', text: 'canary' });
const textOf = (payload: Payload | undefined) =>
  JSON.stringify(payload, (_, value) =>
    value instanceof Uint8Array || (value as { type?: string } | null)?.type === 'Buffer'
      ? Buffer.from(value as never).toString('latin1')
      : value,
  ) ?? '';

async function encoded(list?: string): Promise<Payload> {
  const [payload] = await codecOf(list).encode([PAYLOAD]);
  return payload as Payload;
}
async function decoded(list: string | undefined, payload: Payload): Promise<unknown> {
  const [plain] = await codecOf(list).decode([payload]);
  return defaultPayloadConverter.fromPayload(plain as Payload);
}
const VALUE = { account: 'acct_1', text: 'canary' };

describe('the payload codec', () => {
  it('encrypts with the first key, differently each time, and decrypts with all', async () => {
    const [first, second] = [await encoded(`${NEW},${OLD}`), await encoded(`${NEW},${OLD}`)];
    expect(Buffer.from(first.metadata?.['encryption-key-id'] ?? []).toString()).toBe('new');
    expect(first.data).not.toEqual(second.data);
    expect(textOf(PAYLOAD)).toContain('canary');
    expect(textOf(first)).not.toMatch(/canary|acct_1|json/);
    expect(await decoded(NEW, first)).toEqual(VALUE);
    expect(await decoded(`${NEW},${OLD}`, await encoded(OLD))).toEqual(VALUE);
  });

  it('does not encrypt without keys or with plain in front, but then decrypts, and reads what is not encrypted', async () => {
    expect(await encoded()).toEqual(PAYLOAD);
    expect(await encoded(`plain,${NEW}`)).toEqual(PAYLOAD);
    expect(await decoded(`plain,${NEW}`, await encoded(NEW))).toEqual(VALUE);
    expect(await decoded(NEW, PAYLOAD)).toEqual(VALUE);
  });

  it('names a key that is missing', async () => {
    await expect(decoded(undefined, await encoded(NEW))).rejects.toThrow(/"new".*TEMPORAL_PAYLOAD_KEYS/);
    await expect(decoded(OLD, await encoded(NEW))).rejects.toThrow(/"new".*TEMPORAL_PAYLOAD_KEYS/);
  });

  it.each([
    ['altered data', (payload: Payload) => ({ ...payload, data: flip(payload.data, 20) })],
    ['an altered tag', (payload: Payload) => ({ ...payload, data: flip(payload.data, -1) })],
    ['truncated data', (payload: Payload) => ({ ...payload, data: payload.data?.subarray(0, 9) })],
    ['no data', (payload: Payload) => ({ metadata: payload.metadata })],
    [
      'the id of another key',
      (payload: Payload) => ({
        ...payload,
        metadata: { ...payload.metadata, 'encryption-key-id': Buffer.from('twin') },
      }),
    ],
  ])('does not decrypt %s', async (_, alter) => {
    const twin = NEW.replace('new:', 'twin:');
    await expect(decoded(`${NEW},${twin}`, alter(await encoded(NEW)) as Payload)).rejects.toThrow('does not decrypt');
  });
});

describe('TEMPORAL_PAYLOAD_KEYS', () => {
  const rejectionOf = (more: Record<string, string>) => {
    try {
      return parseConfig({ ...PRODUCTION, ...more }) && '';
    } catch (error) {
      return String(error);
    }
  };

  it('accepts keys, also with plain in front', () => {
    for (const list of [NEW, `${NEW},${OLD}`, `plain,${NEW}`])
      expect(rejectionOf({ TEMPORAL_PAYLOAD_KEYS: list })).toBe('');
  });

  it.each([
    ['no key', 'plain'],
    ['plain at another place', `${NEW},plain`],
    ['a key twice', `${NEW},again:${NEW.slice('new:'.length)}`],
    ['an id twice', `${NEW},${NEW}`],
    ['a key that is not random', `a:${Buffer.alloc(32).toString('base64')}`],
    ['a key of ENCRYPTION_KEYS', PRODUCTION.ENCRYPTION_KEYS],
  ])('does not accept %s in production', (_, list) => {
    expect(rejectionOf({ TEMPORAL_PAYLOAD_KEYS: list })).toMatch('TEMPORAL_PAYLOAD_KEYS');
  });
});

function flip(data: Uint8Array | null | undefined, at: number): Uint8Array {
  const bytes = Buffer.from(data ?? []);
  const index = at < 0 ? bytes.length + at : at;
  bytes[index] = (bytes[index] ?? 0) ^ 1;
  return bytes;
}
