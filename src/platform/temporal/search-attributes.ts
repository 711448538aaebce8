/**
 * Attributes that operators filter calls by in the Temporal UI. Temporal stores them unencrypted and shows them to
 * everyone who may list workflows, so they contain no phone numbers, names or keys. Register each before the first
 * call.
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
