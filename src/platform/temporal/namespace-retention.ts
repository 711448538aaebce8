import { isGrpcServiceError, type WorkflowService } from '@temporalio/client';
import { msToTs, optionalTsToMs } from '@temporalio/common/lib/time';

const DAY_MS = 24 * 3_600_000;
/** INVALID_ARGUMENT, PERMISSION_DENIED, FAILED_PRECONDITION and UNIMPLEMENTED of gRPC: the server does not let us change it. */
const REJECTED: ReadonlySet<number> = new Set([3, 7, 9, 12]);

/** The namespace keeps histories for another time than the configuration says, and only its owner can change it. */
export class NamespaceRetentionError extends Error {}

/**
 * Makes Temporal keep the histories of a namespace for the configured days.
 * @returns whether something was changed
 * @throws NamespaceRetentionError if the server does not allow it
 */
export async function applyNamespaceRetention(
  service: Pick<WorkflowService, 'describeNamespace' | 'updateNamespace'>,
  { namespace, retentionDays }: { namespace: string; retentionDays: number },
): Promise<boolean> {
  const { config } = await service.describeNamespace({ namespace });
  const found = optionalTsToMs(config?.workflowExecutionRetentionTtl) ?? 0;
  const wanted = retentionDays * DAY_MS;
  if (found === wanted) return false;
  try {
    await service.updateNamespace({ namespace, config: { workflowExecutionRetentionTtl: msToTs(wanted) } });
    return true;
  } catch (error) {
    if (!isGrpcServiceError(error) || !REJECTED.has(error.code)) throw error;
    throw new NamespaceRetentionError(
      `the namespace ${namespace} keeps histories for ${found / DAY_MS} days, TEMPORAL_RETENTION_DAYS says ${retentionDays}, ` +
        `and Temporal does not let the set-up change it (${error.details}). Set the retention of the namespace to ` +
        `${retentionDays} days yourself, or change the variable.`,
      { cause: error },
    );
  }
}
