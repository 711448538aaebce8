import { MAX_FAULTS, ServiceError, type RequestFault } from './errors.js';
import { invalidParam } from './invalid-request.js';

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
  return invalidParam('expires_at', 'expires_at must be in the future.');
}

/** @throws ServiceError MISSING_PARAMS if a JSON object contains a field twice */
export function rejectRepeated(names: ReadonlySet<string>): void {
  if (names.size === 0) return;
  const message = 'The JSON object must not contain a field twice.';
  const faults = [...names].slice(0, MAX_FAULTS).map((name): RequestFault => {
    // The name comes from the sender, so repeat it only if it is a plain word.
    return { param: /^[a-z_]{1,64}$/.test(name) ? name : 'body', code: 'parameter_repeated', message };
  });
  throw new ServiceError('MISSING_PARAMS', message, {}, undefined, faults);
}

/** @param maxLength in characters */
export function invalidReason(maxLength: number): ServiceError {
  return invalidParam('reason', `reason must have 1 to ${maxLength} characters.`);
}

/**
 * The sentence about a full list, such as the members of an account.
 * @param p.of what has the list
 * @param p.most maximum number of items
 */
export function limitReached(p: { of: 'An account' | 'A call'; most: number; items: string; remedy: string }): string {
  return `${p.of} can have at most ${p.most} ${p.items}. ${p.remedy}`;
}
