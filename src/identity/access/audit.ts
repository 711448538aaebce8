import type { Mode } from '../../kernel/ids.js';
import type { Actor } from '../../kernel/access.js';
import type { AuditLog } from './audit-log.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { ApiContext } from '../../platform/http/context.js';

/** Writes down a change that was made; `mode` is `test` where nothing but test mode was changed. */
export type Auditor = (
  ctx: ApiContext,
  change: { accountId: string; mode: Mode; actor: Actor; action: string; target?: string | undefined },
) => Promise<void>;

/**
 * The change stands by then, so a log that cannot be written does not turn it into a failure: our own log then keeps what
 * the account's should have.
 */
export function createAuditor({ auditLog, logger }: { auditLog: AuditLog; logger: Logger }): Auditor {
  return async (ctx, { accountId, mode, actor, action, target }) => {
    const entry = {
      accountId,
      mode,
      actorKind: actor.kind,
      actorId: actor.kind === 'key' ? actor.keyId : actor.userId,
      action,
      ...(target === undefined ? {} : { target }),
      requestId: ctx.state.requestId,
    };
    try {
      await auditLog.add({ ...entry, actorName: actor.kind === 'key' ? actor.name : actor.email });
    } catch (error) {
      // A phone number is a target, too, and no log of ours holds one.
      const { target: _private, ...facts } = entry;
      logger.error({ ...facts, err: error }, 'a change could not be written to the audit log');
    }
  };
}
