import { randomBytes } from 'node:crypto';
import { parseConfig } from '../../src/platform/config/config.js';
import { encryptionKeysFault } from '../../src/platform/config/encryption.js';
import { createSecretBox } from '../../src/platform/secrets/secret-box.js';
import { PRODUCTION } from '../support/production.js';

const aKey = (id: string) => ({ id, key: randomBytes(32) });

describe('a secret box', () => {
  it('opens what it sealed, and seals the same text differently each time', () => {
    const box = createSecretBox([aKey('k1')]);
    for (const text of ['', 'Bearer abc', 'ü'.repeat(10_000)]) {
      const sealed = box.seal('tool:a', text);
      expect(sealed).toMatch(/^k1\.[\w-]+$/);
      expect(box.open('tool:a', sealed)).toBe(text);
      expect(box.seal('tool:a', text)).not.toBe(sealed);
    }
  });

  it('opens a secret in its own context only', () => {
    const box = createSecretBox([aKey('k1')]);
    expect(() => box.open('tool:b', box.seal('tool:a', 'secret'))).toThrow(/authenticate/);
  });

  it('does not open altered or truncated data', () => {
    const box = createSecretBox([aKey('k1')]);
    const [id = '', text = ''] = box.seal('tool:a', 'secret').split('.');
    const bytes = Buffer.from(text, 'base64url');
    for (let at = 0; at < bytes.length; at += 1) {
      const altered = Buffer.from(bytes);
      altered[at] = (altered[at] ?? 0) ^ 1;
      expect(() => box.open('tool:a', `${id}.${altered.toString('base64url')}`)).toThrow(/authenticate/);
    }
    for (const cut of ['', 'k1', 'k1.', `k1.${text.slice(0, 20)}`])
      expect(() => box.open('tool:a', cut)).toThrow(/key|truncated/);
  });

  it('seals with the first key and opens with any of its keys', () => {
    const [old, recent] = [aKey('2026-01'), aKey('2026-02')];
    const sealedBefore = createSecretBox([old]).seal('a', 'secret');
    const rotated = createSecretBox([recent, old]);
    expect(rotated.open('a', sealedBefore)).toBe('secret');
    expect(rotated.seal('a', 'secret')).toMatch(/^2026-02\./);
    expect(() => createSecretBox([recent]).open('a', sealedBefore)).toThrow(
      /"2026-01", which ENCRYPTION_KEYS does not contain/,
    );
  });
});

describe('ENCRYPTION_KEYS', () => {
  const PEPPER = 'p'.repeat(32);
  const text = (bytes: Buffer) => bytes.toString('base64');
  const good = text(randomBytes(32));
  const [development] = parseConfig({}).encryptionKeys;

  it('accepts several keys, newest first, and has a fixed key in development', () => {
    const [a, b] = [randomBytes(32), randomBytes(32)];
    expect(parseConfig({ ENCRYPTION_KEYS: `b:${text(b)},a:${text(a)}` }).encryptionKeys).toEqual([
      { id: 'b', key: b },
      { id: 'a', key: a },
    ]);
    expect(parseConfig({ ENCRYPTION_KEYS: '' }).encryptionKeys).toEqual([development]);
  });

  it.each([
    good,
    `:${good}`,
    `a.b:${good}`,
    `${'a'.repeat(33)}:${good}`,
    `a:${good},`,
    `a:${good},a:${text(randomBytes(32))}`,
    `a:${text(randomBytes(31))}`,
    `a:${text(randomBytes(33))}`,
    'change-me',
  ])('rejects %s without repeating it', (value) => {
    const parse = () => parseConfig({ ENCRYPTION_KEYS: value });
    expect(parse).toThrow(/ENCRYPTION_KEYS/);
    expect(parse).not.toThrow(value.split(':').at(-1));
  });

  it('is required in production, and must not be a placeholder, a published key or the pepper', () => {
    expect(() => parseConfig({ ...PRODUCTION, ENCRYPTION_KEYS: '' })).toThrow(/ENCRYPTION_KEYS must be set/);
    expect(parseConfig({ ...PRODUCTION, ENCRYPTION_KEYS: `a:${good}` }).encryptionKeys).toHaveLength(1);
    expect(encryptionKeysFault(`a:${good}`, PEPPER)).toBeUndefined();
    expect(encryptionKeysFault(`change-me:${good}`)).toMatch(/placeholder/);
    expect(encryptionKeysFault(`a:${good},b:${text(development?.key ?? Buffer.alloc(0))}`)).toMatch(/published/);
    expect(encryptionKeysFault(`a:${text(Buffer.from(PEPPER))}`, PEPPER)).toMatch(/API_KEY_PEPPER/);
    expect(encryptionKeysFault(`a:${good}`, good)).toMatch(/API_KEY_PEPPER/);
  });
});
