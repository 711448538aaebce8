import { configuredVoices, offeredEngineNames, type Config } from '../platform/config/config.js';
import { urlFault } from '../platform/egress/guard.js';
import { isNeverDialed, type NumberingPlans } from '../kernel/destinations/destinations.js';
import { ENGINE_NAMES, type EngineName } from '../kernel/conversation/engines.js';
import { ServiceError } from '../kernel/errors.js';
import { invalidParam } from '../kernel/invalid-request.js';
import { voiceFault } from '../kernel/conversation/voices.js';
import type { AgentDocument } from './model.js';
import { assertTemplateSize } from './prompt-size.js';

/** The configuration that determines which agents are usable. */
export type AgentPolicy = Pick<Config, 'production' | 'engines' | 'carriers' | 'webhooks' | 'encryptionKeys'>;

type Spoken = Pick<AgentDocument, 'voice' | 'language'> & { engine?: string | undefined };

/**
 * Rejects an engine that is unavailable, a voice that the engine does not have, and a language that the voice does not
 * speak on that engine.
 * @param policy absent when the configuration is unknown; then the voice may belong to any engine
 * @throws ServiceError MISSING_PARAMS whose message starts with the field's name
 */
export function assertVoiceFits(agent: Spoken, policy?: AgentPolicy): void {
  if (policy !== undefined) assertEngineAllowed(agent.engine, policy);
  const { voice, language } = agent;
  const voices = policy && configuredVoices(policy);
  const fault = voiceFault({ voice, language }, enginesFor(agent, policy), voices);
  if (fault !== undefined) throw invalidParam(fault.startsWith('language') ? 'language' : 'voice', `${fault}.`);
}

/**
 * Rejects an engine that cannot conduct live calls. Undefined means the configured default, which is checked at
 * startup.
 * @throws ServiceError MISSING_PARAMS
 */
export function assertEngineAllowed(
  engine: string | undefined,
  policy: Pick<AgentPolicy, 'production' | 'engines' | 'carriers'>,
): void {
  const offered = offeredEngineNames(policy);
  if (engine === undefined || offered.some((name) => name === engine)) return;
  const why =
    engine === 'offline-demo'
      ? 'is a demonstration that must not call real numbers (see ALLOW_DEMO_ENGINE_ON_LIVE_CALLS)'
      : 'is not configured on this service';
  throw invalidParam('engine', `engine: ${engine} ${why}; use one of ${offered.join(', ')}.`);
}

/**
 * Rejects tools with a URL that requests may not be sent to.
 * @throws ServiceError MISSING_PARAMS
 */
export function assertToolUrls(tools: AgentDocument['tools'], policy: AgentPolicy): void {
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
export function assertTransferNumbers(transferNumbers: readonly string[], plans: NumberingPlans): void {
  const at = transferNumbers.findIndex((number) => isNeverDialed(number, plans));
  const number = transferNumbers[at];
  if (number === undefined) return;
  const isService = plans.serviceNumber(number) !== undefined;
  const fault = isService
    ? 'must not contain an emergency or short number'
    : 'must be in E.164 format without the national trunk prefix, like +442079460123 for 020 7946 0123';
  throw new ServiceError('MISSING_PARAMS', `transfer_numbers: ${fault}`, {
    fields: { transfer_numbers: `transfer_numbers ${fault}.`, [`transfer_numbers.${at}`]: `${fault}.` },
  });
}

/** Maximum size of an agent as JSON, in bytes, including encrypted headers. Limited because each call keeps a copy. */
const MAX_BYTES = 262_144;

/**
 * Rejects an agent that is too large. An agent that was too large before may be changed as long as it does not grow.
 * @throws ServiceError MISSING_PARAMS naming `tools`
 */
export function assertAgentSize(stored: object, present: object = {}): void {
  const bytes = sizeOf(stored);
  if (bytes <= MAX_BYTES || bytes <= sizeOf(present)) return;
  const fault =
    `the agent with the encrypted headers of its tools has ${bytes} bytes, but may have at most ` +
    `${MAX_BYTES} bytes; shorten parameters and descriptions, or remove headers with null.`;
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

/**
 * Rejects a template that is too large, or has a list with an empty choice or of fewer than two: `Monday|`. Without a bar a text is no
 * list. A list that was stored before this rule may stay.
 * @param template a JSON object as a string
 * @throws ServiceError MISSING_PARAMS
 */
export function assertTemplate(template: string | null | undefined, present: AgentDocument | undefined): void {
  if (!template) return;
  assertTemplateSize(template);
  if (template === present?.outputParameters) return;
  const lists = Object.values(JSON.parse(template) as object).filter(
    (value): value is string => typeof value === 'string' && value.includes('|'),
  );
  const areComplete = lists.every((list) => {
    const choices = list.split('|').map((choice) => choice.trim());
    return !choices.includes('') && new Set(choices).size > 1;
  });
  if (areComplete) return;
  throw invalidParam(
    'output_parameters',
    'output_parameters must list at least two different choices, separated by |, where it lists choices, and none may be empty.',
  );
}
