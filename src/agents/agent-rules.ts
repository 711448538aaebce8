import { configuredVoices, offeredEngineNames, type Config } from '../platform/config/config.js';
import { urlFault } from '../platform/egress/guard.js';
import { isNeverDialed, type NumberingPlans } from '../kernel/destinations/destinations.js';
import { ENGINE_NAMES, type EngineName } from '../kernel/engines.js';
import { ServiceError } from '../kernel/errors.js';
import { voiceFault } from '../kernel/voices.js';
import type { AgentDocument } from './model.js';

/** The configuration that determines which agents are usable. */
export type AgentPolicy = Pick<Config, 'engines' | 'carriers' | 'webhooks' | 'encryptionKeys'>;

type Spoken = Pick<AgentDocument, 'voice' | 'language'> & { engine?: string | undefined };

/**
 * Rejects an unavailable engine, a voice the engine does not have, and a language the voice does not speak there.
 * @param policy absent when the configuration is unknown; then any engine may provide the voice
 * @throws ServiceError MISSING_PARAMS, starting with the field
 */
export function refuseUnspeakable(agent: Spoken, policy?: AgentPolicy): void {
  if (policy !== undefined) refuseEngine(agent.engine, policy);
  const { voice, language } = agent;
  const voices = policy && configuredVoices(policy);
  const fault = voiceFault({ voice, language }, enginesFor(agent, policy), voices);
  if (fault !== undefined) throw new ServiceError('MISSING_PARAMS', `${fault}.`);
}

/**
 * Rejects an engine that cannot conduct live calls. Undefined means the configured default, which is checked at
 * startup.
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

/**
 * Rejects tools with a URL that requests may not be sent to.
 * @throws ServiceError MISSING_PARAMS
 */
export function refuseUnsafeTools(tools: AgentDocument['tools'], policy: AgentPolicy): void {
  for (const [index, { name, url }] of (tools ?? []).entries()) {
    const fault = urlFault(`tools: the url of ${name}`, url, policy);
    if (fault === undefined) continue;
    const own = urlFault('url', url, policy) ?? fault;
    throw new ServiceError('MISSING_PARAMS', fault, { fields: { tools: fault, [`tools.${index}.url`]: own } });
  }
}

/**
 * Rejects transfer numbers that may never be called.
 * @throws ServiceError MISSING_PARAMS
 */
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

/** Maximum size of an agent as JSON, in bytes, including encrypted headers. Limited because each call keeps a copy. */
const MOST_BYTES = 262_144;

/**
 * Rejects an agent that is too large. One that already is may be changed as long as it does not grow.
 * @throws ServiceError MISSING_PARAMS naming `tools`
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
