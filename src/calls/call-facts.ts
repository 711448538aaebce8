import type { CallRequestDocument } from './call-request-model.js';

/**
 * The facts of a request that later steps of its call need. They never change, but an erasure removes the personal ones.
 */
export interface CallFacts extends Pick<
  CallRequestDocument,
  | 'accountId'
  | 'mode'
  | 'direction'
  | 'fromPhoneNumber'
  | 'toPhoneNumber'
  | 'externalCallId'
  | 'carrierAccountId'
  | 'maxDurationSeconds'
  | 'microsPerSecond'
  | 'webhookUrl'
  | 'createdAt'
> {
  agentId: string;
  voicemailAction: CallRequestDocument['agent']['voicemailAction'];
  storage: CallRequestDocument['agent']['storage'];
  /** Whether the request contains tools, which are removed after the call. */
  hasTools: boolean;
}

/** Leaves out what can be long: instruction, tools and parameters. */
export function factsOf(request: CallRequestDocument): CallFacts {
  // A broken record may lack its agent, and must not stop what needs only other fields.
  const { agent }: { agent?: Partial<CallRequestDocument['agent']> } = request;
  const { accountId, mode, direction, fromPhoneNumber, toPhoneNumber } = request;
  const { externalCallId, carrierAccountId, maxDurationSeconds, microsPerSecond, webhookUrl, createdAt } = request;
  return {
    accountId,
    mode,
    direction,
    fromPhoneNumber,
    toPhoneNumber,
    externalCallId,
    ...(carrierAccountId === undefined ? {} : { carrierAccountId }),
    maxDurationSeconds,
    ...(microsPerSecond === undefined ? {} : { microsPerSecond }),
    ...(webhookUrl === undefined ? {} : { webhookUrl }),
    createdAt,
    agentId: agent?.agentId ?? '',
    voicemailAction: agent?.voicemailAction,
    storage: agent?.storage,
    hasTools: agent?.tools !== undefined,
  };
}
