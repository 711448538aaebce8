import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Config } from '../../src/platform/config/config.js';
import type { ApiContext } from '../../src/platform/http/context.js';
import { createFailureLimiter } from '../../src/platform/http/rate-limits/rate-limit.js';
import { clientAddress } from '../../src/platform/http/security.js';

const PROXY = '10.0.0.7';

/** Returns the client address for which the limits count a request that a proxy forwards with this X-Forwarded-For. */
function forwarded(forwardedFor: string, options: { trustProxy?: boolean; remoteAddress?: string } = {}): string {
  const { trustProxy = true, remoteAddress = PROXY } = options;
  const ctx = {
    get: (name: string) => (name === 'X-Forwarded-For' ? forwardedFor : ''),
    req: { socket: { remoteAddress } },
  };
  return clientAddress(ctx as unknown as ApiContext, { api: { trustProxy } } as Config);
}

const connected = (remoteAddress: string) => forwarded('', { trustProxy: false, remoteAddress });

describe('a client address cannot be disguised to escape a limit', () => {
  it.each([
    ['compressed', '2001:db8::1'],
    ['compressed elsewhere', '2001:db8:0:0::ffff'],
    ['written out', '2001:0db8:0000:0000:1234:5678:9abc:def0'],
    ['in capitals', '2001:DB8::A'],
    ['with dotted digits', '2001:db8::192.0.2.1'],
    ['with a zone', '2001:db8::1%eth0'],
    ['in brackets', '[2001:db8::1]'],
    ['in brackets with a port', '[2001:db8::1]:49152'],
    ['in quotes and brackets', '"[2001:db8::1]:49152"'],
  ])('an IPv6 address %s counts as its /64 network', (_name, address) => {
    expect(forwarded(address)).toBe('2001:db8::/64');
  });

  it('different /64 networks count separately', () => {
    expect(forwarded('2001:db8:0:1::1')).toBe('2001:db8:0:1::/64');
    expect(forwarded('2001:db8::1:0:0:0:1')).toBe('2001:db8:0:1::/64');
    expect(forwarded('2001:db8:0:2::1')).not.toBe(forwarded('2001:db8:0:1::1'));
  });

  it.each([
    ['plain', '192.0.2.1'],
    ['with a port', '192.0.2.1:8080'],
    ['with blanks', '  192.0.2.1\t'],
    ['mapped', '::ffff:192.0.2.1'],
    ['mapped in hexadecimal', '::FFFF:c000:201'],
    ['mapped and written out', '0:0:0:0:0:ffff:c000:0201'],
    ['mapped in brackets with a port', '[::ffff:192.0.2.1]:8080'],
  ])('an IPv4 address %s counts as itself', (_name, address) => {
    expect(forwarded(address)).toBe('192.0.2.1');
  });

  it('the address of the socket is read the same way', () => {
    expect(connected('::ffff:192.0.2.1')).toBe('192.0.2.1');
    expect(connected('2001:db8::5')).toBe('2001:db8::/64');
    expect(connected('fe80::1%eth0')).toBe('fe80::/64');
  });

  it('only the address that the trusted proxy adds counts', () => {
    expect(forwarded('203.0.113.9, 2001:db8::1, 192.0.2.1')).toBe('192.0.2.1');
    expect(forwarded('203.0.113.9', { trustProxy: false })).toBe(PROXY);
  });

  it.each([
    ['nothing', ''],
    ['an empty last entry', '192.0.2.1, '],
    ['a word', 'unknown'],
    ['a name', 'client.example'],
    ['an obfuscated name', '_hidden'],
    ['numbers in other notations', '0x7f000001'],
    ['octal digits', '0177.0.0.1'],
    ['too few parts', '192.0.2'],
    ['a port alone', ':8080'],
    ['an open bracket', '[2001:db8::1'],
    ['too many groups', '1:2:3:4:5:6:7:8:9'],
    ['2 kB of colons', ':'.repeat(2_000)],
    ['2 kB of noise', '\u0000\u00ff'.repeat(1_000)],
  ])("%s in X-Forwarded-For counts against the proxy's own address", (_name, value) => {
    expect(forwarded(value)).toBe(PROXY);
  });

  it('a closed socket counts as unknown', () => {
    expect(connected('')).toBe('unknown');
  });
});

/** Returns how many bytes of the heap are in use after a garbage collection. */
function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

it('failure counters take a bounded amount of memory, however many addresses there are', async () => {
  const limiter = createFailureLimiter({ api: { trustProxy: false } } as Config);
  const failAt = (n: number) => {
    const remoteAddress = `2001:db8:${(n >> 16).toString(16)}:${(n & 0xffff).toString(16)}::1`;
    return limiter.count({ get: () => '', req: { socket: { remoteAddress } } } as unknown as ApiContext);
  };
  // So many addresses use nearly all of the 65,536 counters.
  for (let n = 0; n < 200_000; n++) await failAt(n);
  const before = heapUsed();
  for (let n = 200_000; n < 300_000; n++) await failAt(n);
  expect((heapUsed() - before) / 1_000_000).toBeLessThan(20);
}, 120_000);
