import { ServiceError } from './errors.js';

/** @param id the id as the client or operator gave it */
export function accountNotFound(id: string): ServiceError {
  return new ServiceError('NOT_FOUND', `There is no account ${id}.`);
}

export function keyNotFound(): ServiceError {
  return new ServiceError('NOT_FOUND', 'There is no API key with this key_id.');
}

/** @param email the address as the operator gave it */
export function memberNotFound(email: string): ServiceError {
  return new ServiceError('NOT_FOUND', `There is no member with the e-mail address ${email}.`);
}

/** The account has no such agent, or has it for test calls only. */
export function noLiveAgent(agentId: string): ServiceError {
  return new ServiceError('AGENT_NOT_FOUND', `This account has no live agent ${agentId}.`);
}

export function noSuchEndpoint(): ServiceError {
  return new ServiceError('NOT_FOUND', 'There is no such endpoint or object.');
}

/** @param role the role of the member */
export function roleNotPermitted(role: string): ServiceError {
  return new ServiceError('FORBIDDEN', `The role ${role} does not permit this operation. Ask an owner of the account.`);
}

export function expiryInPast(): ServiceError {
  return new ServiceError('MISSING_PARAMS', 'expires_at must be in the future.');
}

export function repeatedField(): ServiceError {
  return new ServiceError('MISSING_PARAMS', 'The JSON object must not contain a field twice.');
}

/** @param maxLength in characters */
export function invalidReason(maxLength: number): ServiceError {
  return new ServiceError('MISSING_PARAMS', `reason must have 1 to ${maxLength} characters.`);
}

/**
 * The sentence about a full list, such as the members of an account.
 * @param p.of what has the list
 * @param p.most maximum number of items
 */
export function limitReached(p: { of: 'An account' | 'A call'; most: number; items: string; remedy: string }): string {
  return `${p.of} can have at most ${p.most} ${p.items}. ${p.remedy}`;
}
