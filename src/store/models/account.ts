import { Schema } from 'mongoose';

export const PLANS = ['trial', 'standard', 'growth', 'scale'] as const;
export type Plan = (typeof PLANS)[number];

/** A customer. Balances live in `ledger_accounts`, one per mode. */
export interface AccountDocument {
  _id: string;
  name: string;
  plan: Plan;
  /** Overrides of the plan's limits, set by operators. */
  requestsPerMinute?: number;
  concurrentCalls?: number;
  /** Per mode: the most that may be billed and held in a UTC day, in micro-USD; absent: no limit. */
  dailySpendCapMicros?: number;
  /** Conducts calls to a number of this account that names no agent of its own. */
  inboundAgentId?: string;
  /** E.164 prefixes that may be called; absent means all. */
  allowedCountryPrefixes?: string[];
  createdAt: Date;
}

export const accountSchema = new Schema<AccountDocument>(
  {
    _id: String,
    name: { type: String, required: true },
    plan: { type: String, enum: PLANS, required: true },
    requestsPerMinute: Number,
    concurrentCalls: Number,
    dailySpendCapMicros: Number,
    inboundAgentId: String,
    allowedCountryPrefixes: { type: [String], default: undefined },
    createdAt: { type: Date, required: true },
  },
  { collection: 'accounts', versionKey: false },
);
