import { ERRORS } from '../../platform/http/contract/errors.js';
import { report, type PlacingOutcome } from '../../platform/telemetry/measurements.js';
import { AccountFrozenError, ServiceError } from '../../kernel/errors.js';
import type { Mode } from '../../kernel/ids.js';

/**
 * Places a call, and reports how its request was decided.
 * @param isRepeated whether the result is the stored response of an earlier request
 * @throws what `place` throws
 */
export async function reportDecision<T>(
  mode: Mode,
  place: () => Promise<T>,
  isRepeated: (placed: T) => boolean = () => false,
): Promise<T> {
  try {
    const placed = await place();
    report('placingDecision', { mode, outcome: isRepeated(placed) ? 'repeated' : 'accepted' });
    return placed;
  } catch (error) {
    report('placingDecision', { mode, outcome: outcomeOf(error) });
    throw error;
  }
}

function outcomeOf(error: unknown): PlacingOutcome {
  if (error instanceof AccountFrozenError) return 'frozen';
  return error instanceof ServiceError && ERRORS[error.code].status < 500 ? 'rejected' : 'failed';
}
