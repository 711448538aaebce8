import type { z } from 'zod';
import { strictlyValidated } from '../platform/http/validation.js';
import { toPublic, toStored, type AgentFields, type OptionalField, type AgentFieldName } from './agent-definition.js';
import type { AGENT_FIELDS, ValueOf } from './agent-definition.js';
import { AgentChangesBody, WholeAgent } from './schemas.js';

type StoredName<F extends AgentFieldName> = (typeof AGENT_FIELDS)[F]['stored'];

/** Changes of an agent by stored names: null removes an optional field, an absent field stays as it is. */
export type AgentChanges = {
  [F in Exclude<AgentFieldName, OptionalField> as StoredName<F>]?: ValueOf<F> | undefined;
} & { [F in OptionalField as StoredName<F>]?: ValueOf<F> | null | undefined };

/**
 * All fields of an agent by their stored names, checked, and nothing else of what was given.
 * @throws ServiceError MISSING_PARAMS that names every field at fault by its public name
 */
export function checkAgentFields(fields: object): AgentFields {
  return checked(WholeAgent, fields) as AgentFields;
}

/** The same for changes: only what they name is looked at, so an agent from before a rule can still be changed. */
export function checkAgentChanges(changes: object): AgentChanges {
  return checked(AgentChangesBody, changes);
}

function checked(schema: z.ZodObject, fields: object): Record<string, unknown> {
  return toStored(strictlyValidated(schema, toPublic(fields)));
}
