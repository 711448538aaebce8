import type { z } from 'zod';
import { strictlyValidated } from '../platform/http/validation.js';
import { toPublic, toStored, type AgentFields, type OptionalField, type AgentFieldName } from './agent-definition.js';
import type { AGENT_FIELDS, ValueOf } from './agent-definition.js';
import { AgentChangesBody, WholeAgent } from './schemas.js';

type StoredName<F extends AgentFieldName> = (typeof AGENT_FIELDS)[F]['stored'];

/** Changes of an agent by stored name: null removes an optional field, an absent field stays unchanged. */
export type AgentChanges = {
  [F in Exclude<AgentFieldName, OptionalField> as StoredName<F>]?: ValueOf<F> | undefined;
} & { [F in OptionalField as StoredName<F>]?: ValueOf<F> | null | undefined };

/**
 * Validates all fields of an agent, given by stored name, and drops everything else.
 * @throws ServiceError MISSING_PARAMS naming every invalid field by its public name
 */
export function checkAgentFields(fields: object): AgentFields {
  return checked(WholeAgent, fields) as AgentFields;
}

/**
 * Validates only the changed fields, so that an agent created before a rule existed can still be changed.
 * @throws ServiceError MISSING_PARAMS naming every invalid field by its public name
 */
export function checkAgentChanges(changes: object): AgentChanges {
  return checked(AgentChangesBody, changes);
}

function checked(schema: z.ZodObject, fields: object): Record<string, unknown> {
  return toStored(strictlyValidated(schema, toPublic(fields)));
}
