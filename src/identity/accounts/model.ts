import { Schema } from 'mongoose';
import type { DestinationCap } from '../../kernel/destinations/destinations.js';

export const PLANS = ['trial', 'standard', 'growth', 'scale'] as const;
export type Plan = (typeof PLANS)[number];

/** Limits that have a default on a real carrier, and that an operator can remove for an account. */
export const LIFTABLE_LIMITS = ['dailySpendCapMicros', 'unansweredAttemptsPerHour', 'liveCallsPerDay'] as const;
export type LiftableLimit = (typeof LIFTABLE_LIMITS)[number];

/** A customer. Balances are stored in `ledger_accounts`, one per mode. */
export interface AccountDocument {
  _id: string;
  name: string;
  plan: Plan;
  /** Overrides of the plan's limits, set by operators. */
  requestsPerMinute?: number;
  concurrentCalls?: number;
  /** Maximum billed and held in a UTC day, in micro-USD, per mode. Absent: the service's default applies, if any. */
  dailySpendCapMicros?: number;
  /** Unanswered attempts to one number per hour, after which this account may not call the number again. */
  unansweredAttemptsPerHour?: number;
  /** Live calls and transfers per UTC day on a real carrier. */
  liveCallsPerDay?: number;
  /** Service defaults that an operator removed for this account, so that it has no such limit. */
  liftedLimits?: LiftableLimit[];
  /** Agent for inbound calls to those numbers of this account that have no agent. */
  inboundAgentId?: string;
  /** Name of the pool of carrier accounts for its live calls, set by operators. Absent: the called number decides. */
  carrierPool?: string;
  /** E.164 prefixes that may be called; absent: all. */
  allowedCountryPrefixes?: string[];
  /** Rules by number prefix. A rule for a high-risk prefix also allows calls to it from this account. */
  destinationCaps?: DestinationCap[];
  /** The secrets that sign webhooks, newest first. Without one, webhooks are not signed. */
  webhookSecrets?: StoredWebhookSecret[];
  /** True if its owner has not verified their e-mail address; otherwise absent. */
  unverified?: true;
  createdAt: Date;
}

/** An encrypted secret that signs webhooks. */
export interface StoredWebhookSecret {
  id: string;
  sealed: string;
  createdAt: Date;
  /** How long a replaced secret still signs webhooks, in addition to the new one. */
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
    carrierPool: String,
    allowedCountryPrefixes: { type: [String], default: undefined },
    destinationCaps: { type: [destinationCapSchema], default: undefined },
    webhookSecrets: { type: [webhookSecretSchema], default: undefined },
    unverified: Boolean,
    createdAt: { type: Date, required: true },
  },
  { collection: 'accounts', versionKey: false },
);
