import type { Mode } from '../../kernel/ids.js';
import type { Actor } from '../../kernel/access.js';
import type { AuditLog } from './audit-log.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { ApiContext } from '../../platform/http/context.js';

/**
 * Records a change in the audit log; `mode` is `test` if it affected test mode only, and `unconfirmed` is set if it is not
 * known whether the change was made.
 */
export type Auditor = (
  ctx: ApiContext,
  change: {
    accountId: string;
    mode: Mode;
    actor: Actor;
    action: string;
    target?: string | undefined;
    unconfirmed?: boolean;
    /** Whether there is at most one such entry of an actor for a target. */
    once?: boolean;
  },
) => Promise<void>;

/**
 * Creates an auditor that never rejects. The change has already been made, so a failed write must not fail the request.
 * The entry is then written to the service's log instead.
 */
export function createAuditor({ auditLog, logger }: { auditLog: AuditLog; logger: Logger }): Auditor {
  return async (ctx, { accountId, mode, actor, action, target, unconfirmed = false, once = false }) => {
    const entry = {
      accountId,
      mode,
      actorKind: actor.kind,
      actorId: actor.kind === 'key' ? actor.keyId : actor.userId,
      action,
      ...(target === undefined ? {} : { target }),
      requestId: ctx.state.requestId,
      ...(unconfirmed ? { unconfirmed: true as const } : {}),
    };
    try {
      const named = { ...entry, actorName: actor.kind === 'key' ? actor.name : actor.email };
      await (once ? auditLog.addOnce(named) : auditLog.add(named));
    } catch (error) {
      // The target may be a phone number, which must not appear in our logs.
      const { target: _private, ...facts } = entry;
      logger.error({ ...facts, err: error }, 'audit log entry not written');
    }
  };
}
