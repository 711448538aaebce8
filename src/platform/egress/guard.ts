import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Config } from '../config/config.js';
import { isPrivateRange } from '../config/private-ranges.js';
import { characterCount, urlFrom } from '../../kernel/text.js';
import { isBadPort } from '../../kernel/bad-ports.js';
import { NameError } from './name-resolver.js';

export type GuardConfig = Pick<Config, 'webhooks'>;
type Address = ipaddr.IPv4 | ipaddr.IPv6;

const MAX_URL_LENGTH = 2_048;

/** Thrown by the guarded lookup if the name resolves to an address that no request may be sent to. */
export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';
  readonly code = 'ADDRESS_BLOCKED';
}

/** Azure's host agent. The address is formally public, but is the metadata service of the machine. */
const AZURE_HOST_AGENT = '168.63.129.16';

/** Global unicast addresses. Other IPv6 addresses are not public. */
const PUBLIC_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * IPv6 ranges that lead to another address than the visible one: each address contains an IPv4 address, or belongs to a
 * tunnel.
 */
const TUNNELS_IPV6 = ['64:ff9b::/96', '64:ff9b:1::/48', '2002::/16', '2001::/23', '::/96'].map((cidr) =>
  ipaddr.IPv6.parseCIDR(cidr),
);

/**
 * Checks a URL that a customer gave. Hostnames are not resolved here: for every request, the guarded lookup checks the
 * addresses that are used.
 * @returns a sentence that begins with the field, or undefined if the URL is acceptable
 */
export function urlFault(field: string, url: string, config: GuardConfig): string | undefined {
  if (characterCount(url) > MAX_URL_LENGTH) return `${field} must be at most ${MAX_URL_LENGTH} characters.`;
  // The URL parser would silently remove spaces and control characters, and a different URL would be requested.
  if (/[\s\p{Cc}]/u.test(url)) return `${field} must not contain spaces or control characters.`;
  const parsed = urlFrom(url);
  if (!/^https?:\/\//i.test(url) || parsed === undefined) return `${field} must be a valid http or https URL.`;
  if (parsed.username !== '' || parsed.password !== '') return `${field} must not contain a user name or password.`;
  const fault = portFault(portOf(parsed), config);
  if (fault !== undefined) return `${field} ${fault}`;
  if (config.webhooks.guarded && !isPermittedHost(parsed.hostname, config)) {
    return `${field} must be publicly reachable, not a private, loopback or link-local address. ${remedyFor(parsed.hostname)}`;
  }
  return undefined;
}

/**
 * Creates the lookup function of the socket that will connect. The socket uses the addresses that were checked, so the
 * name cannot resolve differently afterwards. One blocked address among several blocks the name.
 * @param resolve returns all addresses of a name
 */
export function createGuardedLookup(
  config: GuardConfig,
  resolve: (name: string) => Promise<LookupAddress[]>,
): LookupFunction {
  const judged = async (name: string, family: unknown) => {
    const addresses = await resolve(name);
    if (config.webhooks.guarded && !addresses.every(({ address }) => isPermittedAddress(address, config))) {
      throw new BlockedAddressError('The host resolves to an address that is not public.');
    }
    return family === 4 || family === 6 ? addresses.filter((each) => each.family === family) : addresses;
  };
  return (hostname, options, callback) => {
    judged(hostname, options.family).then(
      (addresses) => {
        const [first] = addresses;
        if (first === undefined) callback(new NameError('ENOTFOUND'), '');
        else if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, ''),
    );
  };
}

function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}

/** Returns why no request may go to a port, and which ports to use instead; undefined if requests may go there. */
function portFault(port: number, { webhooks: { ports } }: GuardConfig): string | undefined {
  const listed = ports.map(([low, high]) => (low === high ? low : `${low}-${high}`)).join(', ');
  if (isBadPort(port)) {
    const others =
      listed === '' ? 'port 443, 80 or another one that browsers do not block' : `one of the ports ${listed}`;
    return `must not use port ${port}, because no HTTP requests are sent to the ports of other protocols. Use ${others}.`;
  }
  if (ports.length === 0 || ports.some(([low, high]) => port >= low && port <= high)) return undefined;
  return `must use one of the ports ${listed}, not ${port}. An operator can allow other ports with WEBHOOK_PORTS.`;
}

/** Returns what to do about a host that is not public. Operators can allow private networks, but not the machine itself. */
function remedyFor(hostname: string): string {
  const host = bareHost(hostname);
  const address = ipaddr.isValid(host) ? ipaddr.process(host) : undefined;
  return address !== undefined && isPrivateRange(`${address.toString()}/${address.kind() === 'ipv4' ? 32 : 128}`)
    ? 'An operator can allow a private network with WEBHOOK_ALLOW_CIDRS.'
    : 'Use the public address of your server, or of a tunnel to it.';
}

/** Removes the brackets of an IPv6 address, and the dot that can end a name. */
const bareHost = (hostname: string) => hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');

/** Whether requests may go to a host. The URL parser has already normalized unusual notations of IPv4 addresses. */
function isPermittedHost(hostname: string, config: GuardConfig): boolean {
  const host = bareHost(hostname);
  if (ipaddr.isValid(host)) return isPermittedAddress(host, config);
  const local = host === 'localhost' || host.endsWith('.localhost');
  return host !== '' && (!local || isPermittedAddress('127.0.0.1', config));
}

function isPermittedAddress(address: string, config: GuardConfig): boolean {
  // Reject addresses that cannot be checked, such as one with an IPv6 zone or in an unknown notation.
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return isPublic(parsed) || config.webhooks.allowCidrs.some((cidr) => isWithin(parsed, ipaddr.parseCIDR(cidr)));
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast' || address.toString() === AZURE_HOST_AGENT) return false;
  return (
    address.kind() === 'ipv4' ||
    (isWithin(address, PUBLIC_IPV6) && !TUNNELS_IPV6.some((range) => isWithin(address, range)))
  );
}

function isWithin(address: Address, range: [Address, number]): boolean {
  return address.kind() === range[0].kind() && address.match(range);
}
