import { withoutSecrets } from '../../src/voice/tools/secret-removal.js';

/** Ten values that are pieces of the placeholder. Each replacement made room for several others. */
const PIECES = ['redact', 'ed]ed]', '[redac', 'd]ted]', '[redac', 'd]te[r', 'edacte', 'ted]d]', '[redac', 'ted][r'];
/** The largest response of a tool's server that is read. */
const LARGEST = 65_536;

const timed = (body: string, secrets: readonly string[]) => {
  const began = process.cpuUsage();
  const text = withoutSecrets(body, secrets);
  const { user, system } = process.cpuUsage(began);
  return { text, cpuMs: (user + system) / 1_000 };
};

describe('the answer of a tool server, searched for the secret headers of the tool,', () => {
  it.each([60, 120, 600, LARGEST])('stays small if %i bytes consist of pieces of the placeholder', (length) => {
    const { text, cpuMs } = timed('redact'.repeat(length / 6), PIECES);
    expect(text).toBe('[redacted]'.repeat(Math.floor(length / 6)));
    expect(cpuMs).toBeLessThan(500);
  });

  it('is searched once for each secret, also if every position matches several', () => {
    const zeros = Array.from({ length: 10 }, (_, more) => '0'.repeat(6 + more));
    const { text, cpuMs } = timed(`[${Array.from({ length: 13_000 }, () => '9e20').join()}]`, zeros);
    expect(text).not.toContain('000000');
    expect(cpuMs).toBeLessThan(500);
  });

  it('is searched twice if it is JSON, and grows little', () => {
    const { text, cpuMs } = timed(JSON.stringify('redact'.repeat(10_000)), PIECES);
    expect(text.length).toBeLessThan(3 * LARGEST);
    expect(cpuMs).toBeLessThan(500);
  });

  it.each([2, 9_000])(
    'has no secret as it was sent, also if JSON would read something else, in %i bytes more',
    (more) => {
      const rest = `"rest":"${'x'.repeat(more)}"}`;
      const secrets = ['12345678901234567890', 'Bearer token-1'];
      expect(withoutSecrets(`{"key":12345678901234567890,${rest}`, secrets)).toBe(`{"key":[redacted],${rest}`);
      expect(withoutSecrets(`{"key":"Bearer token-1","key":"",${rest}`, secrets)).not.toContain('token-1');
    },
  );

  it('has one placeholder for secrets that overlap, and keeps what is between others', () => {
    expect(withoutSecrets('abcdefgh-ghijkl abcdef', ['abcdef', 'defgh-ghi'])).toBe('[redacted]jkl [redacted]');
    expect(withoutSecrets('Bearer token-1, token-1', ['Bearer token-1'])).toBe('[redacted], [redacted]');
    expect(withoutSecrets('nothing', ['abcdef', ''])).toBe('nothing');
  });
});
