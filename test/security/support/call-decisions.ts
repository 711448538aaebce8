import { createGivenUpCalls } from '../../../src/calls/placing/given-up-calls.js';
import { createCallProjection } from '../../../src/calls/projection.js';
import { createServerClock } from '../../../src/platform/mongo/server-clock.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import type { Service } from '../../support/http/harness.js';

/** Creates those parts of an API process by which the process and the workflows agree on which calls go ahead. */
export function decisionsOf({ database, gateway }: Pick<Service, 'database' | 'gateway'>) {
  const logger = createLogger({ role: 'test', level: 'silent' });
  const projection = createCallProjection(database);
  return { givenUpCalls: createGivenUpCalls({ projection, gateway, logger }), clock: createServerClock(database) };
}
