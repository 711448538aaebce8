import { configuredVoices, offeredEngineNames, type Config } from '../platform/config/config.js';
import { urlFault } from '../platform/egress/guard.js';
import { isNeverDialed, type NumberingPlans } from '../kernel/destinations/destinations.js';
import { ENGINE_NAMES, type EngineName } from '../kernel/engines.js';
import { ServiceError } from '../kernel/errors.js';
import { voiceFault } from '../kernel/voices.js';
import type { AgentDocument } from './model.js';

/** What of the configuration decides whether an agent can be used. */
export type AgentPolicy = Pick<Config, 'engines' | 'carriers' | 'webhooks' | 'encryptionKeys'>;

type Spoken = Pick<AgentDocument, 'voice' | 'language'> & { engine?: string | undefined };

/**
 * Refuses an engine that is not offered, a voice that the engine does not have, and a language that the voice does not
 * speak there.
 * @param policy absent where the service's configuration is not known: then any engine may have the voice
 * @throws ServiceError MISSING_PARAMS that begins with the field
 */
export function refuseUnspeakable(agent: Spoken, policy?: AgentPolicy): void {
  if (policy !== undefined) refuseEngine(agent.engine, policy);
  const { voice, language } = agent;
  const voices = policy && configuredVoices(policy);
  const fault = voiceFault({ voice, language }, enginesFor(agent, policy), voices);
  if (fault !== undefined) throw new ServiceError('MISSING_PARAMS', `${fault}.`);
}

/**
 * Refuses an engine that live calls cannot be conducted by; absent is the configured one, which the start-up has checked.
 * @throws ServiceError MISSING_PARAMS
 */
export function refuseEngine(engine: string | undefined, policy: Pick<AgentPolicy, 'engines' | 'carriers'>): void {
  const offered = offeredEngineNames(policy);
  if (engine === undefined || offered.some((name) => name === engine)) return;
  const why =
    engine === 'offline-demo'
      ? 'is a demonstration and not for calls to real numbers (ALLOW_DEMO_ENGINE_ON_LIVE_CALLS)'
      : 'is not configured on this service';
  throw new ServiceError('MISSING_PARAMS', `engine: ${engine} ${why}; there is ${offered.join(', ')}.`);
}

/** @throws ServiceError MISSING_PARAMS when a tool's address may not be asked */
export function refuseUnsafeTools(tools: AgentDocument['tools'], policy: AgentPolicy): void {
  for (const [index, { name, url }] of (tools ?? []).entries()) {
    const fault = urlFault(`tools: the url of ${name}`, url, policy);
    if (fault === undefined) continue;
    const own = urlFault('url', url, policy) ?? fault;
    throw new ServiceError('MISSING_PARAMS', fault, { fields: { tools: fault, [`tools.${index}.url`]: own } });
  }
}

/** @throws ServiceError MISSING_PARAMS when a call may not be transferred to one of these numbers */
export function refuseUndialable(transferNumbers: readonly string[], plans: NumberingPlans): void {
  const at = transferNumbers.findIndex((number) => isNeverDialed(number, plans));
  const number = transferNumbers[at];
  if (number === undefined) return;
  const isService = plans.serviceNumber(number) !== undefined;
  const fault = isService
    ? 'must hold no emergency or short number'
    : 'must be in E.164 without the national trunk prefix, like +442079460123 for 020 7946 0123';
  throw new ServiceError('MISSING_PARAMS', `transfer_numbers: ${fault}`, {
    fields: { transfer_numbers: `transfer_numbers ${fault}.`, [`transfer_numbers.${at}`]: `${fault}.` },
  });
}

/** Bytes that an agent takes as JSON, sealed headers included: each call keeps a copy. */
const MOST_BYTES = 262_144;

/**
 * Refuses an agent that is too large. One that is larger from before may be changed as long as it does not grow.
 * @throws ServiceError MISSING_PARAMS that names tools
 */
export function refuseLarge(stored: object, present: object = {}): void {
  const bytes = sizeOf(stored);
  if (bytes <= MOST_BYTES || bytes <= sizeOf(present)) return;
  const fault =
    `the agent takes ${bytes} bytes with the encrypted headers that its tools keep, and may take at most ` +
    `${MOST_BYTES} bytes; shorten parameters and descriptions, or take headers away with null.`;
  throw new ServiceError('MISSING_PARAMS', `tools: ${fault}`, { fields: { tools: `tools: ${fault}` } });
}

function sizeOf(stored: object): number {
  return Buffer.byteLength(JSON.stringify(stored));
}

function enginesFor({ engine }: Spoken, policy: AgentPolicy | undefined): readonly EngineName[] {
  const named = ENGINE_NAMES.find((name) => name === engine);
  if (named !== undefined) return [named];
  return policy === undefined ? ENGINE_NAMES : [policy.engines.byDefault];
}
