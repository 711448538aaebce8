import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { parseConfig } from '../../src/platform/config/config.js';
import { createGuardedLookup } from '../../src/platform/egress/guard.js';
import { checkWebhookUrl } from '../../src/platform/egress/webhook-url.js';
import { egressConfig } from '../support/egress-config.js';

const guarded = egressConfig({ guarded: true });
const open = egressConfig();
const allowing = (...allowCidrs: string[]) => egressConfig({ guarded: true, allowCidrs });

const PRIVATE_FORMS = {
  loopback: 'http://127.0.0.1/',
  'loopback, other end': 'http://127.255.255.254/',
  decimal: 'http://2130706433/',
  octal: 'http://0177.0.0.1/',
  hexadecimal: 'http://0x7f000001/',
  'hexadecimal octets': 'http://0x7f.0x0.0x0.0x1/',
  short: 'http://127.1/',
  'trailing dot': 'http://127.0.0.1./',
  'percent-encoded': 'http://%31%32%37.0.0.1/',
  'full-width digits': 'http://\uff11\uff12\uff17.0.0.1/',
  'ideographic stop': 'http://127\u30020\u30020\u30021/',
  zero: 'http://0/',
  unspecified: 'http://0.0.0.0/',
  'private 10': 'http://10.1.2.3/',
  'private 172': 'http://172.16.0.1/',
  'private 192': 'http://192.168.1.1/',
  'carrier-grade NAT': 'http://100.64.0.1/',
  'link-local': 'http://169.254.1.1/',
  'cloud metadata': 'http://169.254.169.254/latest/meta-data/',
  'metadata in decimal': 'http://2852039166/',
  'Azure host agent': 'http://168.63.129.16/',
  benchmark: 'http://198.18.0.1/',
  documentation: 'http://192.0.2.1/',
  multicast: 'http://224.0.0.1/',
  reserved: 'http://240.0.0.1/',
  broadcast: 'http://255.255.255.255/',
  'IPv6 loopback': 'http://[::1]/',
  'IPv6 unspecified': 'http://[::]/',
  'IPv6 loopback, long': 'http://[0:0:0:0:0:0:0:1]/',
  'mapped, dotted': 'http://[::ffff:127.0.0.1]/',
  'mapped, hexadecimal': 'http://[::ffff:7f00:1]/',
  'mapped Azure host agent': 'http://[::ffff:168.63.129.16]/',
  'IPv4-compatible': 'http://[::127.0.0.1]/',
  NAT64: 'http://[64:ff9b::7f00:1]/',
  'local NAT64': 'http://[64:ff9b:1::7f00:1]/',
  '6to4': 'http://[2002:7f00:1::]/',
  Teredo: 'http://[2001:0:7f00:1::]/',
  'unique local': 'http://[fd00:ec2::254]/',
  'IPv6 link-local': 'http://[fe80::1]/',
  'IPv6 documentation': 'http://[2001:db8::1]/',
  'IPv6 multicast': 'http://[ff02::1]/',
  'outside global unicast': 'http://[4000::1]/',
  localhost: 'http://localhost/',
  'localhost, capitals and dot': 'http://LOCALHOST./',
  'below localhost': 'https://inbox.localhost/',
};

describe('webhook URL', () => {
  it.each(Object.entries(PRIVATE_FORMS))('%s is rejected in production and allowed in development', (_name, url) => {
    expect(checkWebhookUrl(url, guarded)).toMatch(/publicly reachable/);
    expect(checkWebhookUrl(url, open)).toBeUndefined();
  });

  it.each([
    'https://example.com/hook?a=1#part',
    'http://example.com:8080/',
    'https://8.8.8.8/hook',
    'https://[2606:4700:4700::1111]/',
    'https://[::ffff:8.8.8.8]/',
    'https://bücher.example/',
    'HTTPS://EXAMPLE.COM',
  ])('%s is allowed in production', (url) => {
    expect(checkWebhookUrl(url, guarded)).toBeUndefined();
  });

  it('with a non-ASCII name is still allowed after many checks', () => {
    const faults = Array.from({ length: 30_000 }, () => checkWebhookUrl('https://bücher.example/', guarded));
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
  });

  it.each([
    '',
    'example.com/hook',
    '/hook',
    'ftp://example.com/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'http:example.com',
    'http://',
    'http://[::1',
    'http://300.0.0.1/',
    'http://example.com:99999/',
    'http://exa mple.com/',
    'http://example.com/\r\nx-injected: 1',
    'http://exam\tple.com/',
    'http://[fe80::1%25eth0]/',
    'https://user@example.com/',
    'https://user:secret@example.com/',
    'https://:secret@example.com/',
  ])('%j is rejected everywhere, with a sentence that names the field', (url) => {
    expect(checkWebhookUrl(url, open)).toMatch(/^webhook_url must .*\.$/);
    expect(checkWebhookUrl(url, guarded)).toMatch(/^webhook_url must .*\.$/);
  });

  it('has at most 2,048 characters', () => {
    const base = 'https://example.com/';
    expect(checkWebhookUrl(base + 'a'.repeat(2_048 - base.length), guarded)).toBeUndefined();
    expect(checkWebhookUrl(base + 'a'.repeat(2_049 - base.length), guarded)).toMatch(/2048 characters/);
  });

  it('is allowed in ranges that the operator opened, and only there', () => {
    const config = allowing('10.20.0.0/16', 'fd00::/8');
    expect(checkWebhookUrl('http://10.20.3.4/', config)).toBeUndefined();
    expect(checkWebhookUrl('http://[fd00::5]/', config)).toBeUndefined();
    expect(checkWebhookUrl('http://10.21.0.1/', config)).toMatch(/publicly reachable/);
    expect(checkWebhookUrl('http://localhost/', config)).toMatch(/publicly reachable/);
    expect(checkWebhookUrl('http://localhost/', allowing('127.0.0.0/8'))).toBeUndefined();
  });

  it.each([
    ['http://10.21.0.1/', /An operator can allow a private network with WEBHOOK_ALLOW_CIDRS\.$/],
    ['http://[fd00::5]/', /An operator can allow a private network with WEBHOOK_ALLOW_CIDRS\.$/],
    // Operators cannot allow these in production.
    ['http://localhost/', /Use the public address of your server, or of a tunnel to it\.$/],
    ['http://127.0.0.1/', /Use the public address/],
    ['http://[::1]/', /Use the public address/],
    ['http://169.254.169.254/', /Use the public address/],
  ])('that is not public is rejected with what to do: %s', (url, remedy) => {
    expect(checkWebhookUrl(url, guarded)).toMatch(remedy);
  });

  it('with an invalid CIDR range in the settings prevents the start', () => {
    expect(parseConfig({ WEBHOOK_ALLOW_CIDRS: '10.0.0.0/8, fd00::/8' }).webhooks.allowCidrs).toHaveLength(2);
    expect(() => parseConfig({ WEBHOOK_ALLOW_CIDRS: '10.0.0.0' })).toThrow(/WEBHOOK_ALLOW_CIDRS/);
  });
});

describe('guarded lookup', () => {
  const resolving =
    (...addresses: LookupAddress[]) =>
    async () =>
      addresses;
  const run = (lookup: LookupFunction, all: boolean) =>
    new Promise((resolve, reject) => {
      lookup('receiver.example', { all }, (error, found) => (error ? reject(error) : resolve(found)));
    });
  const publicAddress = { address: '93.184.215.14', family: 4 };

  it('returns the checked addresses', async () => {
    const lookup = createGuardedLookup(guarded, resolving(publicAddress));
    await expect(run(lookup, true)).resolves.toEqual([publicAddress]);
    await expect(run(lookup, false)).resolves.toBe(publicAddress.address);
  });

  it.each([
    ['private', { address: '10.0.0.1', family: 4 }],
    ['mapped', { address: '::ffff:169.254.169.254', family: 6 }],
    ['an address with a zone', { address: 'fe80::1%eth0', family: 6 }],
  ])('rejects all addresses if one of them is %s', async (_name, bad) => {
    const lookup = createGuardedLookup(guarded, resolving(publicAddress, bad));
    await expect(run(lookup, true)).rejects.toMatchObject({ code: 'ADDRESS_BLOCKED' });
    await expect(run(lookup, false)).rejects.toMatchObject({ code: 'ADDRESS_BLOCKED' });
  });

  it('rejects a name without addresses', async () => {
    await expect(run(createGuardedLookup(guarded, resolving()), true)).rejects.toThrow(/no address/);
  });
});
