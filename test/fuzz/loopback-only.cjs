'use strict';
// Loaded before the service's own code: generated requests name webhooks and tools all over the internet, and nothing of
// this run may reach it. Names are not found, and addresses other than loopback refuse.
const dns = require('node:dns');
const net = require('node:net');

const LOOPBACK = new Set(['localhost', '127.0.0.1', '::1']);
const systemLookup = dns.lookup;
const connect = net.Socket.prototype.connect;

dns.lookup = function lookup(hostname, ...rest) {
  if (LOOPBACK.has(hostname)) return systemLookup.call(this, hostname, ...rest);
  const callback = rest.at(-1);
  const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND', hostname });
  process.nextTick(callback, error);
};

net.Socket.prototype.connect = function connectToLoopback(...args) {
  // Given as (options), (port, host) or (path); or, from inside node, as one array of [options, callback].
  const [first, second] = Array.isArray(args[0]) ? args[0] : args;
  const options = typeof first === 'object' && first !== null ? first : { port: first, host: second };
  const host = typeof options.host === 'string' ? options.host : 'localhost';
  const outside = options.path === undefined && net.isIP(host) !== 0 && !/^(127\.|::1$)/.test(host);
  if (!outside) return connect.apply(this, args);
  const error = Object.assign(new Error(`connect ECONNREFUSED ${host}`), { code: 'ECONNREFUSED', address: host });
  process.nextTick(() => this.destroy(error));
  return this;
};
