import type { WorkflowService } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import { applyNamespaceRetention, NamespaceRetentionError } from '../../src/platform/temporal/namespace-retention.js';

const namespace = 'callwright.a1b2c';

/** A namespace with a retention of 30 days, whose changes are rejected with a status of gRPC. */
function serviceThatRejects(code: number): Pick<WorkflowService, 'describeNamespace' | 'updateNamespace'> {
  const error = Object.assign(new Error('no'), { code, details: 'not allowed', metadata: {} });
  return {
    describeNamespace: () => Promise.resolve({ config: { workflowExecutionRetentionTtl: msToTs('30 days') } }),
    updateNamespace: () => Promise.reject(error),
  } as never;
}

describe('the retention of a namespace that the service may not change', () => {
  it('is no problem if it is that of the configuration', async () => {
    expect(await applyNamespaceRetention(serviceThatRejects(7), { namespace, retentionDays: 30 })).toBe(false);
  });

  it.each([3, 7, 9, 12])('otherwise ends the set-up with a remedy (status %i)', async (code) => {
    const applied = applyNamespaceRetention(serviceThatRejects(code), { namespace, retentionDays: 7 });
    await expect(applied).rejects.toThrow(NamespaceRetentionError);
    await expect(applied).rejects.toThrow(
      /callwright\.a1b2c keeps histories for 30 days, TEMPORAL_RETENTION_DAYS says 7, .*not allowed.*Set the retention of the namespace to 7 days/,
    );
  });

  it('is tried again while Temporal does not respond', async () => {
    const applied = applyNamespaceRetention(serviceThatRejects(14), { namespace, retentionDays: 7 });
    await expect(applied).rejects.not.toThrow(NamespaceRetentionError);
  });
});
