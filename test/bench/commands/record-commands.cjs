'use strict';
/**
 * Preloaded into a role by the benchmark (`node --require`). Appends one line of JSON to the file BENCH_COMMANDS_FILE for
 * every database command, with the HTTP request or activity that sent it. The commands come from the driver's own
 * monitoring, for which the connection string has `monitorCommands=true`.
 */
const { AsyncLocalStorage } = require('node:async_hooks');
const { subscribe } = require('node:diagnostics_channel');
const { openSync, writeSync } = require('node:fs');
const { Context } = require('@temporalio/activity');
// Mongoose may bring its own version of the driver.
const { MongoClient } = require(require.resolve('mongodb', { paths: [require.resolve('mongoose')] }));

/** Commands of the connection itself, which no code of the service sends. */
const OF_CONNECTION = new Set(['hello', 'ismaster', 'ping', 'endsessions']);

const role = process.env.BENCH_ROLE ?? 'unknown';
const file = openSync(process.env.BENCH_COMMANDS_FILE, 'a');
const requests = new AsyncLocalStorage();

/** Replaces ids by their names, so that all requests to a route have one name. */
function operationOf({ method, url }) {
  const [path] = url.split('?');
  return `${method} ${path.replace(/\b(call|agent|acct|key)_[0-9A-Za-z]{10,}/g, '{$1_id}')}`;
}

subscribe('http.server.request.start', ({ request, response }) => {
  const current = { operation: operationOf(request), isOver: false };
  response.once('finish', () => (current.isOver = true));
  requests.enterWith(current);
});

function operation() {
  try {
    return Context.current().info.activityType;
  } catch {
    const current = requests.getStore();
    if (current === undefined) return 'background';
    return current.isOver ? `after ${current.operation}` : current.operation;
  }
}

const monitored = new WeakSet();
const { connect } = MongoClient.prototype;
MongoClient.prototype.connect = function connectMonitored(...args) {
  if (!monitored.has(this)) {
    monitored.add(this);
    this.on('commandStarted', ({ commandName, command }) => {
      if (OF_CONNECTION.has(commandName.toLowerCase())) return;
      const target = command[commandName];
      // `getMore` names its collection in another field.
      const collection = typeof target === 'string' ? target : (command.collection ?? '');
      const at = Date.now();
      writeSync(file, `${JSON.stringify({ role, at, operation: operation(), command: commandName, collection })}\n`);
    });
  }
  return connect.apply(this, args);
};
