import { AGENT_FIELD_LIST, type AGENT_FIELDS, type AgentFieldName } from '../../agents/agent-definition.js';
import type { Agent } from '../../agents/schemas.js';
import { editedTools, givenTool, type EditedTool } from './components/tools-editor';

type Kind<F extends AgentFieldName> = (typeof AGENT_FIELDS)[F]['kind'];

/** Values of the agent form: text, except for check boxes and tools. */
export type AgentForm = {
  [F in AgentFieldName]: Kind<F> extends 'tools' ? EditedTool[] : Kind<F> extends 'yesNo' ? boolean : string;
};

/**
 * Converts an agent to form values.
 * @param first initial values of a new agent for fields without a default in `AGENT_FIELDS`
 */
export function formOf(agent: Agent | undefined, first: Partial<AgentForm>): AgentForm {
  const values: Record<string, unknown> = {};
  for (const field of AGENT_FIELD_LIST) {
    const value = agent?.[field.name];
    if (field.kind === 'tools') values[field.name] = editedTools(agent?.tools);
    else if (field.kind === 'yesNo') values[field.name] = value ?? field.absentMeans;
    else if (field.kind === 'phoneNumbers') values[field.name] = ((value ?? []) as string[]).join('\n');
    else if (field.kind === 'seconds') values[field.name] = String((value ?? field.initial) as number);
    else values[field.name] = value ?? (field.kind === 'choice' ? field.absentMeans : first[field.name]) ?? '';
  }
  return values as AgentForm;
}

/**
 * Builds the request body for a form. An empty optional field is omitted for a new agent and null for an existing one.
 */
export function requestOf(form: AgentForm, agent: Agent | undefined) {
  const none = agent === undefined ? undefined : null;
  const body: Record<string, unknown> = {};
  for (const { name, kind, presence } of AGENT_FIELD_LIST) {
    let value: unknown = form[name];
    if (kind === 'tools') value = form.tools.map(givenTool);
    if (kind === 'phoneNumbers') value = (form[name] as string).split(/\s+/).filter(Boolean);
    if (kind === 'seconds') value = Number(form[name]);
    const isEmpty = value === '' || (Array.isArray(value) && value.length === 0);
    body[name] = isEmpty && presence === 'optional' ? none : value;
  }
  return body;
}
