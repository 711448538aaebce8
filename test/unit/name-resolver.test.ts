import { appendFileSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rm } from 'node:fs/promises';
import { createSocket } from 'node:dgram';
import { createNameResolver } from '../../src/platform/egress/name-resolver.js';
import { startDnsServer, type DnsEntry, type DnsServer } from '../support/dns-server.js';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function serverOf(entries: Record<string, DnsEntry>): Promise<DnsServer> {
  const server = await startDnsServer((name) => (Object.hasOwn(entries, name) ? entries[name] : undefined));
  closers.push(() => server.close());
  return server;
}

/** Returns a function that resolves names with these name servers and this hosts file, and measures the time. */
function resolverOf(nameservers: readonly string[], hosts = '') {
  const folder = mkdtempSync(join(tmpdir(), 'callwright-hosts-'));
  closers.push(() => rm(folder, { recursive: true }));
  const hostsFile = join(folder, 'hosts');
  writeFileSync(hostsFile, hosts);
  const resolve = createNameResolver({ nameservers, hostsFile });
  return {
    hostsFile,
    lookUp: async (name: string, signal = new AbortController().signal) => {
      const startedAt = performance.now();
      const addresses = await resolve(name, { accountId: 'acct_1', signal }).then(
        (found) => found.map(({ address }) => address),
        (error: { code?: string; name: string }) => error.code ?? error.name,
      );
      return { addresses, ms: performance.now() - startedAt };
    },
  };
}

describe('the name resolver', () => {
  it('returns at most eight addresses of each family, although a name can have thousands', async () => {
    const many = Array.from({ length: 20 }, (_, index) => [`192.0.2.${index}`, `2001:db8::${index}`]).flat();
    const server = await serverOf({ 'many.example': { addresses: many } });
    const { addresses } = await resolverOf([server.address]).lookUp('many.example');
    expect(addresses).toHaveLength(16);
    expect(new Set(addresses).size).toBe(16);
  });

  it('finds IPv4 and IPv6 addresses, also through a chain of aliases', async () => {
    const server = await serverOf({
      'both.example': { addresses: ['2001:db8::1', '192.0.2.1', '192.0.2.2'] },
      'ipv6.example': { addresses: ['2001:db8::2'] },
      'alias.example': { cname: 'alias.cdn.example' },
      'alias.cdn.example': { cname: 'both.example' },
    });
    const { lookUp } = resolverOf([server.address]);
    const both = ['192.0.2.1', '192.0.2.2', '2001:db8::1'];
    expect((await lookUp('both.example')).addresses).toEqual(both);
    expect((await lookUp('BOTH.example.')).addresses).toEqual(both);
    expect((await lookUp('alias.example')).addresses).toEqual(both);
    expect((await lookUp('ipv6.example')).addresses).toEqual(['2001:db8::2']);
  });

  it('queries the exact name without a search domain, each time again', async () => {
    const server = await serverOf({
      'good.example': { addresses: ['192.0.2.1'] },
      receiver: { addresses: ['10.0.0.1'] },
    });
    const { lookUp } = resolverOf([server.address]);
    expect((await lookUp('receiver')).addresses).toEqual(['10.0.0.1']);
    expect((await lookUp('nothing')).addresses).toBe('ENOTFOUND');
    await lookUp('good.example');
    await lookUp('good.example');
    expect(server.queries.filter((question) => question.startsWith('A '))).toEqual([
      'A receiver',
      'A nothing',
      'A good.example',
      'A good.example',
    ]);
  });

  it('caches for five seconds that a name does not exist or has no address', async () => {
    const entries: Record<string, DnsEntry> = { 'empty.example': {} };
    const server = await serverOf(entries);
    const { lookUp } = resolverOf([server.address]);
    for (const name of ['absent.example', 'empty.example']) {
      for (let time = 0; time < 3; time += 1) expect((await lookUp(name)).addresses).toBe('ENOTFOUND');
    }
    expect(server.queries).toHaveLength(4);
    entries['absent.example'] = { addresses: ['192.0.2.1'] };
    await new Promise((resolve) => setTimeout(resolve, 5_100));
    expect((await lookUp('absent.example')).addresses).toEqual(['192.0.2.1']);
  });

  it.each(['a..example', `${'x'.repeat(64)}.example`, `${'x.'.repeat(130)}example`])(
    'reports an invalid name as nonexistent',
    async (name) => {
      expect((await resolverOf(['127.0.0.1:9']).lookUp(name)).addresses).toBe('ENOTFOUND');
    },
  );

  it('gives up after two attempts within two seconds', async () => {
    const server = await serverOf({ 'dead.example': { fault: 'silent' } });
    const { addresses, ms } = await resolverOf([server.address]).lookUp('dead.example');
    expect(addresses).toBe('EAI_AGAIN');
    expect(ms).toBeGreaterThan(1_900);
    expect(ms).toBeLessThan(3_000);
    expect(server.queries.toSorted()).toEqual([
      'A dead.example',
      'A dead.example',
      'AAAA dead.example',
      'AAAA dead.example',
    ]);
  });

  it('accepts a late response within the two seconds', async () => {
    const server = await serverOf({ 'slow.example': { addresses: ['192.0.2.1'], delayMs: 1_000 } });
    expect((await resolverOf([server.address]).lookUp('slow.example')).addresses).toEqual(['192.0.2.1']);
  });

  it('stops when the caller aborts', async () => {
    const server = await serverOf({ 'dead.example': { fault: 'silent' } });
    const { addresses, ms } = await resolverOf([server.address]).lookUp('dead.example', AbortSignal.timeout(300));
    expect(addresses).not.toBeInstanceOf(Array);
    expect(ms).toBeLessThan(1_500);
  });

  it('does not wait long for IPv6 addresses after it has IPv4 addresses', async () => {
    const server = await serverOf({ 'half.example': { addresses: ['192.0.2.1'], silentForIpv6: true } });
    const { addresses, ms } = await resolverOf([server.address]).lookUp('half.example');
    expect(addresses).toEqual(['192.0.2.1']);
    expect(ms).toBeLessThan(1_500);
  });

  it.each(['silent', 'SERVFAIL', 'REFUSED'] as const)('asks the next server when one is %s', async (fault) => {
    const faulty = await serverOf({ 'good.example': { fault } });
    const good = await serverOf({ 'good.example': { addresses: ['192.0.2.1'] } });
    const { addresses, ms } = await resolverOf([faulty.address, good.address]).lookUp('good.example');
    expect(addresses).toEqual(['192.0.2.1']);
    expect(ms).toBeLessThan(1_500);
  });

  it('asks the next server when one or two are down', async () => {
    const port = await unusedUdpPort();
    const good = await serverOf({ 'good.example': { addresses: ['192.0.2.1'] } });
    const { addresses, ms } = await resolverOf([`127.0.0.1:${port}`, `127.0.0.1:${port}`, good.address]).lookUp(
      'good.example',
    );
    expect(addresses).toEqual(['192.0.2.1']);
    expect(ms).toBeLessThan(1_900);
  });
});

describe('the hosts file', () => {
  const HOSTS =
    '# 192.0.2.9 receiver\n192.0.2.1\tReceiver other # and more\n2001:db8::1 receiver\nnonsense x\nfe80::1%lo0 zone\n';

  it('has precedence over the name servers, and is read again when it changes', async () => {
    const server = await serverOf({ receiver: { addresses: ['192.0.2.99'] } });
    const { lookUp, hostsFile } = resolverOf([server.address], HOSTS);
    expect((await lookUp('receiver')).addresses).toEqual(['192.0.2.1', '2001:db8::1']);
    expect((await lookUp('other.')).addresses).toEqual(['192.0.2.1']);
    expect(server.queries).toEqual([]);
    expect((await lookUp('zone')).addresses).toBe('ENOTFOUND');
    appendFileSync(hostsFile, '192.0.2.5 late\n');
    expect((await lookUp('late')).addresses).toEqual(['192.0.2.5']);
  });

  it('is optional for localhost, and no name server is asked about localhost', async () => {
    const server = await serverOf({});
    const { lookUp } = resolverOf([server.address]);
    for (const name of ['localhost', 'app.localhost', 'localhost.']) {
      expect((await lookUp(name)).addresses).toEqual(['127.0.0.1', '::1']);
    }
    expect(server.queries).toEqual([]);
    expect((await resolverOf([server.address], '127.0.0.5 localhost').lookUp('localhost')).addresses).toEqual([
      '127.0.0.5',
    ]);
  });
});

async function unusedUdpPort(): Promise<number> {
  const socket = createSocket('udp4');
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  const { port } = socket.address();
  await new Promise<void>((resolve) => socket.close(() => resolve()));
  return port;
}
