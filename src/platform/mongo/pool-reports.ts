import type { Connection, mongo } from 'mongoose';
import { isObserved, report, type DatabaseFailureReason, type Measurements } from '../telemetry/measurements.js';

type ConnectionId = mongo.ConnectionCheckedOutEvent['connectionId'];

/** Reasons why a command got no connection, by the driver's names. */
const WAIT_FAILURES: Readonly<Record<string, DatabaseFailureReason>> = {
  timeout: 'no_free_connection',
  connectionError: 'not_connected',
  poolClosed: 'pool_closed',
};

/** The driver closes a broken connection as soon as its command has returned it. One that broke while idle was returned before. */
const CLOSED_WITHIN_MS = 5;

/** The connections to one server. Their ids are unique only there. */
interface ServerPool {
  open: Set<ConnectionId>;
  /** When each connection in use was taken, in ms. */
  takenAt: Map<ConnectionId, number>;
  lastReturned: { id: ConnectionId | undefined; at: number };
}

/**
 * Reports how commands use the pools of a connection, if somebody observes it. The driver takes a connection for each
 * command, and returns it after the response; only transactions behind a load balancer keep one. It emits these events
 * anyway. Those of commands (`monitorCommands`) cost a tenth of a read, because it decodes each response for them again.
 */
export function reportPools(connection: Connection): void {
  // Without a valid address there is no client; waiting for the connection then says why.
  const client = connection.getClient() as ReturnType<Connection['getClient']> | undefined;
  if (client === undefined || !isObserved('databaseCommand')) return;
  const pools = new Map<string, ServerPool>();
  const connections = connectionsOf(pools);

  function poolOf(address: string): ServerPool {
    const known = pools.get(address);
    if (known !== undefined) return known;
    const pool: ServerPool = { open: new Set(), takenAt: new Map(), lastReturned: { id: undefined, at: 0 } };
    pools.set(address, pool);
    return pool;
  }

  client.on('connectionReady', ({ address, connectionId }) => {
    poolOf(address).open.add(connectionId);
    report('databaseConnections', connections);
  });
  client.on('connectionCheckedOut', ({ address, connectionId, durationMS }) => {
    poolOf(address).takenAt.set(connectionId, performance.now());
    report('databaseWait', { seconds: durationMS / 1_000 });
  });
  client.on('connectionCheckedIn', ({ address, connectionId }) => {
    const { takenAt, lastReturned } = poolOf(address);
    const now = performance.now();
    const began = takenAt.get(connectionId) ?? now;
    takenAt.delete(connectionId);
    lastReturned.id = connectionId;
    lastReturned.at = now;
    report('databaseCommand', { seconds: (now - began) / 1_000 });
  });
  client.on('connectionCheckOutFailed', ({ reason, durationMS }) => {
    report('databaseWait', { seconds: durationMS / 1_000 });
    report('databaseFailure', { reason: WAIT_FAILURES[reason] ?? 'not_connected' });
  });
  client.on('connectionClosed', ({ address, connectionId, reason }) => {
    const { open, lastReturned } = poolOf(address);
    // A connection that could not be opened is closed, too.
    if (!open.delete(connectionId) || reason !== 'error') return;
    const isOfCommand = lastReturned.id === connectionId && performance.now() - lastReturned.at < CLOSED_WITHIN_MS;
    if (isOfCommand) report('databaseFailure', { reason: 'lost' });
  });
  client.on('connectionPoolCleared', () => report('databaseFailure', { reason: 'pool_cleared' }));
  // The driver emits nothing more about the connections to this server, although some may be in use.
  client.on('serverClosed', ({ address }) => void pools.delete(address));
}

/** The connections of all pools as they are when they are read. */
function connectionsOf(pools: ReadonlyMap<string, ServerPool>): Measurements['databaseConnections'] {
  const count = (part: (pool: ServerPool) => number) => [...pools.values()].reduce((sum, pool) => sum + part(pool), 0);
  return {
    open: () => count(({ open }) => open.size),
    inUse: () => count(({ takenAt }) => takenAt.size),
  };
}
