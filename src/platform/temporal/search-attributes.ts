/**
 * Attributes by which operators filter calls in the Temporal UI. Temporal stores them unencrypted and shows them to
 * everyone who may list workflows, so they contain no phone numbers, names or keys. They must be registered before the
 * first call.
 */
export const SEARCH_ATTRIBUTES = {
  CallStatus: 'Keyword',
  Direction: 'Keyword',
  Mode: 'Keyword',
  AccountId: 'Keyword',
  AgentId: 'Keyword',
  EndReason: 'Keyword',
} as const;

export type SearchAttributeName = keyof typeof SEARCH_ATTRIBUTES;
