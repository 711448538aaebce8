import { Schema } from 'mongoose';
import type { DestinationCap } from '../../kernel/destinations/destinations.js';

export const PLANS = ['trial', 'standard', 'growth', 'scale'] as const;
export type Plan = (typeof PLANS)[number];

/** Limits that have a default on a real carrier. */
export const LIFTABLE_LIMITS = ['dailySpendCapMicros', 'unansweredAttemptsPerHour', 'liveCallsPerDay'] as const;
export type LiftableLimit = (typeof LIFTABLE_LIMITS)[number];

/** A customer. Balances live in `ledger_accounts`, one per mode. */
export interface AccountDocument {
  _id: string;
  name: string;
  plan: Plan;
  /** Overrides of the plan's limits, set by operators. */
  requestsPerMinute?: number;
  concurrentCalls?: number;
  /** Per mode: the most that may be billed and held in a UTC day, in micro-USD; absent: the service's default, if any. */
  dailySpendCapMicros?: number;
  /** Attempts without an answer that a number may get in an hour before this account may not try it again. */
  unansweredAttemptsPerHour?: number;
  /** Live calls and transfers of a UTC day on a real carrier. */
  liveCallsPerDay?: number;
  /** Defaults of the service that an operator lifted for this account: no limit in their place. */
  liftedLimits?: LiftableLimit[];
  /** Conducts calls to a number of this account that names no agent of its own. */
  inboundAgentId?: string;
  /** E.164 prefixes that may be called; absent means all. */
  allowedCountryPrefixes?: string[];
  /** Rules for numbers that begin so; one for a high-risk prefix also lifts the service's refusal of it. */
  destinationCaps?: DestinationCap[];
  /** Newest first; their presence turns signing on. */
  webhookSecrets?: StoredWebhookSecret[];
  /** Opened by somebody who has not verified their e-mail address; absent with all others. */
  unverified?: true;
  createdAt: Date;
}

/** A secret that webhooks are signed with, encrypted. */
export interface StoredWebhookSecret {
  id: string;
  sealed: string;
  createdAt: Date;
  /** When it was replaced: until when it signs beside its successor. */
  expiresAt?: Date;
}

const destinationCapSchema = new Schema<DestinationCap>(
  { prefix: { type: String, required: true }, callsPerHour: Number, callsPerDay: Number, blocked: Boolean },
  { _id: false },
);

const webhookSecretSchema = new Schema<StoredWebhookSecret>(
  {
    id: { type: String, required: true },
    sealed: { type: String, required: true },
    createdAt: { type: Date, required: true },
    expiresAt: Date,
  },
  { _id: false },
);

export const accountSchema = new Schema<AccountDocument>(
  {
    _id: String,
    name: { type: String, required: true },
    plan: { type: String, enum: PLANS, required: true },
    requestsPerMinute: Number,
    concurrentCalls: Number,
    dailySpendCapMicros: Number,
    unansweredAttemptsPerHour: Number,
    liveCallsPerDay: Number,
    liftedLimits: { type: [String], default: undefined },
    inboundAgentId: String,
    allowedCountryPrefixes: { type: [String], default: undefined },
    destinationCaps: { type: [destinationCapSchema], default: undefined },
    webhookSecrets: { type: [webhookSecretSchema], default: undefined },
    unverified: Boolean,
    createdAt: { type: Date, required: true },
  },
  { collection: 'accounts', versionKey: false },
);
