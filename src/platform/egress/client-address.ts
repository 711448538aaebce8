import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Maximum length of a text that is parsed, more than any address with zone and port has. */
const MAX_ADDRESS_LENGTH = 100;

/**
 * Returns the client that a connection counts for in rate limits: an IPv4 address, or the /64 network of an IPv6
 * address (`2001:db8::/64`), because one customer has at least that many addresses. An IPv4-mapped IPv6 address counts
 * as its IPv4 address.
 * @param p.forwardedFor the X-Forwarded-For header, read only if the proxy is trusted. A proxy appends the client's
 * address, so the last entry counts. If that is not an address, the proxy counts as the client.
 * @param p.remoteAddress the socket's remote address
 * @returns `unknown` if neither is an address
 */
export function clientOf(p: { forwardedFor: string; remoteAddress: string | undefined; trustProxy: boolean }): string {
  const last = p.forwardedFor.slice(p.forwardedFor.lastIndexOf(',') + 1);
  return (p.trustProxy ? networkOf(last) : undefined) ?? networkOf(p.remoteAddress ?? '') ?? 'unknown';
}

/**
 * Returns the networks of a client as `clientOf` names it, widest first and the client itself last: for IPv4 the /16
 * and /24, for IPv6 the /32, the smallest allocation of a provider, and the /48, which one customer may have. Attackers
 * with many addresses usually have them in one of these networks.
 */
export function networksOf(client: string): string[] {
  if (isIPv4(client)) {
    const parts = client.split('.');
    return [parts.slice(0, 2).join('.'), parts.slice(0, 3).join('.'), client];
  }
  const [address = ''] = client.split('/', 1);
  if (!isIPv6(address)) return [client];
  const { parts } = ipaddr.IPv6.parse(address);
  const hex = (count: number) =>
    parts
      .slice(0, count)
      .map((part) => part.toString(16))
      .join(':');
  return [hex(2), hex(3), client];
}

function networkOf(text: string): string | undefined {
  const address = bareAddress(text);
  // Use Node's checks, because those of ipaddr.js throw and catch an error for each address that is not IPv4.
  if (isIPv4(address)) return address;
  if (!isIPv6(address)) return undefined;
  const parsed = ipaddr.IPv6.parse(address);
  if (isIPv4Mapped(parsed)) return parsed.toIPv4Address().toString();
  return `${new ipaddr.IPv6([...parsed.parts.slice(0, 4), 0, 0, 0, 0]).toString()}/64`;
}

/** Whether the address is in ::ffff:0:0/96. The library's check would build a table of all ranges each time. */
function isIPv4Mapped({ parts }: ipaddr.IPv6): boolean {
  return parts[5] === 0xffff && parts.slice(0, 5).every((part) => part === 0);
}

/** Removes the quotes, brackets, port and zone that proxies write around an address. */
function bareAddress(text: string): string {
  if (text.length > MAX_ADDRESS_LENGTH) return '';
  const trimmed = text.trim().replace(/^"([^"]*)"$/, '$1');
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(trimmed)?.[1];
  if (bracketed !== undefined) return withoutZone(bracketed);
  const [, ipv4] = /^([\d.]+):\d{1,5}$/.exec(trimmed) ?? [];
  return ipv4 ?? withoutZone(trimmed);
}

function withoutZone(address: string): string {
  return address.split('%')[0] ?? '';
}
