import type { windowRequest } from '../domain/hold-windows.js';
import { MICROS_PER_SECOND, priceOfSeconds, secondsCovered, type Micros } from '../domain/money.js';
import { ServiceError } from '../domain/errors.js';
import type { Plan } from './ledger-decide.js';
import type { LedgerAccountDocument } from './models/ledger.js';

type WindowRequest = ReturnType<typeof windowRequest>;

/**
 * Holds a window: all of it, or (from the second window on) the whole seconds the balance still covers, or nothing. A
 * refusal is written as well, so that a later attempt of the same operation cannot succeed behind the back of one who
 * was told no.
 */
export function holdPlan(callId: string, window: number, request: WindowRequest, available: Micros): Plan {
  if (available >= request.micros) return grant(callId, request.micros, request.last, { atLeast: request.micros });
  if (window === 0) return refusal(callId, request.micros);
  if (available < MICROS_PER_SECOND) return refusal(callId, MICROS_PER_SECOND);
  const rest = priceOfSeconds(secondsCovered(available));
  return grant(callId, rest, true, { atLeast: rest, below: request.micros });
}

/** Blocks a hold that was not decided when its call was settled. */
export function tombstonePlan(callId: string): Plan {
  return { marker: { type: 'hold', callId, amountMicros: 0, void: true }, increments: {}, guard: {} };
}

/** Bills at most what is held and gives the rest back. */
export function settlementPlan(callId: string, held: Micros, billedSeconds: number, estimated: boolean): Plan {
  const billed = billedSeconds >= secondsCovered(held) ? held : priceOfSeconds(billedSeconds);
  return {
    marker: {
      type: 'settlement',
      callId,
      heldMicros: held,
      billedMicros: billed,
      billedSeconds,
      ...(estimated ? { estimated } : {}),
    },
    // 0 - held: a negative zero would be stored as one.
    increments: { heldMicros: 0 - held, availableMicros: held - billed, billedMicros: billed },
    guard: { heldMicros: { atLeast: held } },
  };
}

/** @throws ServiceError when the account's sum would leave the range of exact integers */
export function topUpPlan(account: LedgerAccountDocument, amountMicros: Micros): Plan {
  const room = Number.MAX_SAFE_INTEGER - amountMicros;
  if (account.creditedMicros > room) {
    throw new ServiceError('MISSING_PARAMS', 'The amount is more than this account can hold.');
  }
  return {
    marker: { type: 'topUp', amountMicros },
    increments: { availableMicros: amountMicros, creditedMicros: amountMicros },
    guard: { creditedMicros: { below: room + 1 } },
  };
}

function grant(callId: string, amountMicros: Micros, last: boolean, available: { atLeast: number; below?: number }) {
  return {
    marker: { type: 'hold' as const, callId, amountMicros, ...(last ? { last } : {}) },
    increments: { availableMicros: -amountMicros, heldMicros: amountMicros },
    guard: { availableMicros: available },
  };
}

function refusal(callId: string, below: Micros): Plan {
  return {
    marker: { type: 'hold', callId, amountMicros: 0, refused: true },
    increments: {},
    guard: { availableMicros: { below } },
  };
}
