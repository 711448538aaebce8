import type { Connection } from 'mongoose';
import { report } from '../telemetry/measurements.js';

/** Reports the commands and the pool of a connection. The driver emits commands only with `monitorCommands`. */
export function reportCommands(connection: Connection): void {
  const client = connection.getClient();
  client.on('commandSucceeded', ({ commandName: command, duration }) =>
    report('databaseCommand', { command, outcome: 'ok', seconds: duration / 1_000 }),
  );
  client.on('commandFailed', ({ commandName: command, duration }) =>
    report('databaseCommand', { command, outcome: 'failed', seconds: duration / 1_000 }),
  );
  client.on('connectionCreated', () => report('databaseConnections', { state: 'open', change: 1 }));
  client.on('connectionClosed', () => report('databaseConnections', { state: 'open', change: -1 }));
  client.on('connectionCheckedOut', () => report('databaseConnections', { state: 'in_use', change: 1 }));
  client.on('connectionCheckedIn', () => report('databaseConnections', { state: 'in_use', change: -1 }));
}
