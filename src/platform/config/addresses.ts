import { urlFrom } from '../../kernel/text.js';

/** 127.0.0.0/8, ::1 and localhost: traffic to them stays on this machine. */
const LOOPBACK = /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/;
/** Hosts that need not be parsed, which every request in development would be. */
const USUAL_LOOPBACK = /^(?:127\.0\.0\.1|localhost)(?::\d{1,4})?$/;
/** Private IPv4 ranges, unique local IPv6 addresses, and names without a dot, which only a private network resolves. */
const PRIVATE =
  /^(10\.\d+\.\d+\.\d+|192\.168\.\d+\.\d+|172\.(1[6-9]|2\d|3[01])\.\d+\.\d+|\[f[cd][0-9a-f:]+\]|[a-z][a-z0-9-]*)$/;

/**
 * Whether a URL may be used without TLS.
 * @param near hosts that need no TLS: none, this machine, or this machine and private networks
 */
export function mayBePlain(address: string, near: 'nowhere' | 'machine' | 'network'): boolean {
  const { hostname } = new URL(address);
  return (near !== 'nowhere' && LOOPBACK.test(hostname)) || (near === 'network' && PRIVATE.test(hostname));
}

/** Whether a host in a URL or Host header is this machine. @param host with or without a port */
export function isLoopbackHost(host: string): boolean {
  return USUAL_LOOPBACK.test(host) || LOOPBACK.test(hostnameOf(host));
}

/** Returns the hostname of a host, with or without a port, in lower case. Empty if the text is not a host. */
export function hostnameOf(host: string): string {
  return /^[^\s/?#@\\]+$/.test(host) ? (urlFrom(`http://${host}`)?.hostname ?? '') : '';
}

/** Whether every host, with or without a port, is this machine or in a private network. */
export function arePrivateHosts(hosts: readonly string[]): boolean {
  return hosts.map(hostnameOf).every((name) => LOOPBACK.test(name) || PRIVATE.test(name));
}
