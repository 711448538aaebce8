import { AGENT_FIELD_LIST, type AGENT_FIELDS, type AgentFieldName } from '../../../../agents/agent-definition.js';
import type { Pronunciation } from '../../../../kernel/conversation/conversation-settings.js';
import type { Agent } from '../../../../agents/schemas.js';
import { editedTools, givenTool, type EditedTool } from './edited-tools';

type Kind<F extends AgentFieldName> = (typeof AGENT_FIELDS)[F]['kind'];

interface ValueOfControl {
  tools: EditedTool[];
  pronunciations: readonly Pronunciation[];
  yesNo: boolean;
  choices: readonly string[];
}

/** Values of the agent form: text, except for check boxes, lists of them, tools and pronunciations. */
export type AgentForm = {
  [F in AgentFieldName]: Kind<F> extends keyof ValueOfControl ? ValueOfControl[Kind<F>] : string;
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
    else if (field.kind === 'pronunciations' || field.kind === 'choices') values[field.name] = value ?? [];
    else if (field.kind === 'number') values[field.name] = value === undefined ? '' : String(value as number);
    else if (field.kind === 'phoneNumbers' || field.kind === 'terms')
      values[field.name] = ((value ?? []) as string[]).join('\n');
    else if (field.kind === 'seconds') values[field.name] = String((value ?? field.initial) as number);
    else values[field.name] = value ?? (field.kind === 'choice' ? field.absentMeans : first[field.name]) ?? '';
  }
  return values as AgentForm;
}

/**
 * Builds the request body for a form. An empty optional field is omitted for a new agent and null for an existing one,
 * and so is a check box in its default state.
 */
export function requestOf(form: AgentForm, agent: Agent | undefined) {
  const none = agent === undefined ? undefined : null;
  const body: Record<string, unknown> = {};
  for (const field of AGENT_FIELD_LIST) {
    const value = givenValue(field, form);
    const isDefault =
      field.kind === 'yesNo'
        ? value === field.absentMeans
        : value === '' || (Array.isArray(value) && value.length === 0);
    body[field.name] = isDefault && field.presence === 'optional' ? none : value;
  }
  return body;
}

function givenValue({ name, kind }: (typeof AGENT_FIELD_LIST)[number], form: AgentForm): unknown {
  if (kind === 'tools') return form.tools.map(givenTool);
  if (kind === 'pronunciations') return form.pronunciations.filter(({ text, spoken }) => text + spoken !== '');
  const value = form[name];
  if (typeof value !== 'string') return value;
  switch (kind) {
    case 'phoneNumbers':
      return value.split(/\s+/).filter(Boolean);
    case 'terms':
      return value
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean);
    case 'seconds':
      return Number(value);
    case 'number':
      return value === '' ? value : Number(value);
    default:
      return value;
  }
}
