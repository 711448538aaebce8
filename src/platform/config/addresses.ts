import { urlFrom } from '../../kernel/text.js';

/** 127.0.0.0/8, ::1 and localhost: what is sent there stays on the machine. */
const LOOPBACK = /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/;
/** Private IPv4 ranges, unique local IPv6, and names without a dot, which only a private network resolves. */
const PRIVATE =
  /^(10\.\d+\.\d+\.\d+|192\.168\.\d+\.\d+|172\.(1[6-9]|2\d|3[01])\.\d+\.\d+|\[f[cd][0-9a-f:]+\]|[a-z][a-z0-9-]*)$/;

/** Whether an address may do without TLS. @param near how far away it may be for that */
export function mayBePlain(address: string, near: 'nowhere' | 'machine' | 'network'): boolean {
  const { hostname } = new URL(address);
  return (near !== 'nowhere' && LOOPBACK.test(hostname)) || (near === 'network' && PRIVATE.test(hostname));
}

/** Whether a host, as a URL or a Host header names it, is this machine itself. @param host with or without a port */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK.test(hostnameOf(host));
}

/** The name in a host with or without a port, in lower case; empty for what is no host. */
export function hostnameOf(host: string): string {
  return /^[^\s/?#@\\]+$/.test(host) ? (urlFrom(`http://${host}`)?.hostname ?? '') : '';
}

/** Whether every host, with or without a port, is this machine or in a private network. */
export function arePrivateHosts(hosts: readonly string[]): boolean {
  return hosts.map(hostnameOf).every((name) => LOOPBACK.test(name) || PRIVATE.test(name));
}
