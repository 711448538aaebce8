import type { Connection } from 'mongoose';
import { report } from '../telemetry/measurements.js';

/** MongoDB's codes for a duplicate key and a write conflict: what writers of one document expect, and not a failure. */
const CONFLICTS: readonly unknown[] = [11_000, 112];

/** Reports the commands and the pool of a connection. The driver emits commands only with `monitorCommands`. */
export function reportCommands(connection: Connection): void {
  // Without a valid address there is no client; waiting for the connection then says why.
  const client = connection.getClient() as ReturnType<Connection['getClient']> | undefined;
  if (client === undefined) return;
  client.on('commandSucceeded', ({ commandName: command, duration }) =>
    report('databaseCommand', { command, outcome: 'ok', seconds: duration / 1_000 }),
  );
  client.on('commandFailed', ({ commandName: command, duration, failure }) => {
    const outcome = CONFLICTS.includes((failure as { code?: unknown }).code) ? 'conflict' : 'failed';
    report('databaseCommand', { command, outcome, seconds: duration / 1_000 });
  });
  client.on('connectionCreated', () => report('databaseConnections', { state: 'open', change: 1 }));
  client.on('connectionClosed', () => report('databaseConnections', { state: 'open', change: -1 }));
  client.on('connectionCheckedOut', () => report('databaseConnections', { state: 'in_use', change: 1 }));
  client.on('connectionCheckedIn', () => report('databaseConnections', { state: 'in_use', change: -1 }));
}
