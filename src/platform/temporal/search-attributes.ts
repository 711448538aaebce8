/**
 * What operators filter calls by in the Temporal UI. Temporal keeps these in clear and for ever visible to whoever may
 * list workflows, so no phone number, name or key is among them. Each must be registered before the first call.
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
