import type { RouteHandlers } from '../../identity/access/principal.js';
import { ServiceError } from '../../kernel/errors.js';
import { deadlineOf, withDeadline } from '../../platform/http/deadline.js';
import { ask, type Link } from '../../platform/launcher-link.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { CallQueries } from '../call-queries.js';
import { findCall } from '../placing/call-status.js';
import type { developmentRoutes } from './contract.js';

/** How long the launcher may take to find and kill the process. */
const KILL_WITHIN_MS = 1_500;

/**
 * Creates the handlers of routes that exist in development only.
 * @param deps.launcher the launcher that started this process; undefined if none did
 */
export function createDevelopmentHandlers(deps: {
  queries: CallQueries;
  launcher?: Link | undefined;
  logger: Logger;
}): RouteHandlers<typeof developmentRoutes> {
  const { queries, launcher, logger } = deps;
  return {
    async killMediaProcess({ ctx, principal, params: { call_id: callId } }) {
      const { user } = principal;
      if (user.operator !== true) throw new ServiceError('FORBIDDEN', 'Only operators of the service kill processes.');
      const find = (mode: 'live' | 'test') => findCall(queries, { ...principal, mode }, callId);
      // Paths of the portal have no mode.
      const { _id } = await withDeadline(
        deadlineOf(ctx),
        find('test').catch((error: unknown) => {
          if (error instanceof ServiceError && error.code === 'CALL_NOT_FOUND') return find('live');
          throw error;
        }),
      );
      if (launcher === undefined) {
        throw new ServiceError(
          'CONFLICT',
          'The process cannot be killed from here, because npm start did not start this service.',
        );
      }
      if (!(await ask(launcher, 'kill', _id, KILL_WITHIN_MS))) {
        throw new ServiceError('CONFLICT', 'No media process carries this call at the moment.');
      }
      logger.warn({ callId: _id, userId: user._id }, 'media process killed for an operator');
      return { call_id: _id, killed: true };
    },
  };
}
