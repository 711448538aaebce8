import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '../../src/platform/config/config.js';
import { SECRETS } from '../../src/platform/config/secret-variables.js';
import { withoutSecretFiles, withSecretFiles } from '../../src/platform/config/files/secret-files.js';

const SECRET = '4f1c9a7be0d25386a1c47d90b3e86f52';
const folder = mkdtempSync(join(tmpdir(), 'secrets-'));
afterAll(() => rmSync(folder, { recursive: true }));

function fileWith(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe('secrets in files', () => {
  it.each([
    ['without a line break', SECRET],
    ['with a line break', `${SECRET}\n`],
    ['with a line break of Windows', `${SECRET}\r\n`],
  ])('are read %s at the end', (_, text) => {
    expect(parseConfig({ API_KEY_PEPPER_FILE: fileWith('pepper', text) }).apiKeyPepper).toBe(SECRET);
  });

  it('work for every secret variable', () => {
    const env = Object.fromEntries(
      SECRETS.map(({ variable }) => [`${variable}_FILE`, fileWith(variable, `${variable} value\n`)]),
    );
    const { given, faults } = withSecretFiles(env);
    expect(faults).toEqual([]);
    expect(SECRETS.length).toBeGreaterThan(10);
    for (const { variable } of SECRETS) expect(given[variable]).toBe(`${variable} value`);
  });

  it.each([
    ['is missing', () => join(folder, 'missing'), 'API_KEY_PEPPER_FILE names a file that cannot be read (ENOENT).'],
    ['is empty', () => fileWith('empty', '\n'), 'API_KEY_PEPPER_FILE names an empty file.'],
    ['is a folder', () => folder, 'API_KEY_PEPPER_FILE names a file that cannot be read (EISDIR).'],
    ['is long', () => fileWith('long', 'x'.repeat(70_000)), 'API_KEY_PEPPER_FILE names a file that is too long'],
  ])('stop the role if the file %s', (_, path, message) => {
    expect(() => parseConfig({ API_KEY_PEPPER_FILE: path() })).toThrow(message);
  });

  it('stop the role if the variable is set, too, without quoting either', () => {
    const env = { API_KEY_PEPPER: 'first secret', API_KEY_PEPPER_FILE: fileWith('second', 'second secret') };
    const parse = () => parseConfig(env);
    expect(parse).toThrow('API_KEY_PEPPER_FILE and API_KEY_PEPPER are both set: remove one.');
    expect(parse).not.toThrow(/first|second secret/);
  });

  it('can be read before there is a configuration, which the result then gives', () => {
    const uri = 'mongodb://127.0.0.1:1/callwright';
    const env = withoutSecretFiles({ MONGODB_URI_FILE: fileWith('mongodb', uri), API_PORT: '1' });
    expect(env.MONGODB_URI).toBe(uri);
    expect(parseConfig({ ...env, API_PORT: '2' })).toMatchObject({ mongodbUri: uri, api: { port: 2 } });
    expect(() => withoutSecretFiles({ MONGODB_URI_FILE: folder })).toThrow(
      'The configuration is invalid. MONGODB_URI_FILE names a file that cannot be read (EISDIR).',
    );
  });

  it('are checked as variables are', () => {
    const env = { NODE_ENV: 'production', API_KEY_PEPPER_FILE: fileWith('weak', 'change-me') };
    expect(() => parseConfig(env)).toThrow(/API_KEY_PEPPER/);
  });
});
