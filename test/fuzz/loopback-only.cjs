'use strict';
// Loaded before the service's code. Generated requests contain URLs of webhooks and tools on the internet, which the
// fuzz run must not reach. So host names do not resolve, and connections to addresses other than loopback fail.
const dns = require('node:dns');
const net = require('node:net');

const LOOPBACK = new Set(['localhost', '127.0.0.1', '::1']);
const systemLookup = dns.lookup;
const { value: connect } = Object.getOwnPropertyDescriptor(net.Socket.prototype, 'connect');

dns.lookup = function lookup(hostname, ...rest) {
  if (LOOPBACK.has(hostname)) return systemLookup.call(this, hostname, ...rest);
  const callback = rest.at(-1);
  const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND', hostname });
  process.nextTick(callback, error);
};

net.Socket.prototype.connect = function connectToLoopback(...args) {
  // The arguments are (options), (port, host) or (path); inside Node, they are one array of [options, callback].
  const [first, second] = Array.isArray(args[0]) ? args[0] : args;
  const options = typeof first === 'object' && first !== null ? first : { port: first, host: second };
  const host = typeof options.host === 'string' ? options.host : 'localhost';
  const outside = options.path === undefined && net.isIP(host) !== 0 && !/^(127\.|::1$)/.test(host);
  if (!outside) return connect.apply(this, args);
  const error = Object.assign(new Error(`connect ECONNREFUSED ${host}`), { code: 'ECONNREFUSED', address: host });
  process.nextTick(() => this.destroy(error));
  return this;
};
