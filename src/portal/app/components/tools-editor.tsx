import { useEffect, useState } from 'preact/hooks';
import { AGENT_FIELDS } from '../../../agents/agent-definition.js';
import type { Agent } from '../../../agents/schemas.js';
import { urlFrom } from '../../../kernel/text.js';
import { webhookEndpoint } from '../../../kernel/webhook-endpoint.js';
import { SelectField, TextArea, TextField } from './fields';
import { ToolHeaders } from './tool-headers';
import { ToolParameters } from './tool-parameters';

export type Tool = NonNullable<Agent['tools']>[number];

export type EditedTool = Tool & {
  /** Stable key for rendering. */
  key: string;
  headers?: Record<string, string | null>;
  /** Name and URL stored by the service; absent for a new tool. */
  stored?: { name: string; url: string };
};

const METHODS = ['GET', 'POST'].map((value) => ({ value, label: value }));
const NO_ARGUMENTS = '{"type":"object","properties":{}}';

/**
 * Converts stored tools to form values.
 * @param before the submitted tools, whose keys are kept, so that they stay expanded
 */
export function editedTools(tools: readonly Tool[] = [], before: readonly EditedTool[] = []): EditedTool[] {
  return tools.map((tool, index) => {
    const { name, url } = tool;
    return { ...tool, key: before[index]?.key ?? name, stored: { name, url } };
  });
}

/** Converts a tool to its form in a request. */
export function givenTool(tool: EditedTool) {
  const { key: _key, header_names: names = [], stored: _stored, headers = {}, ...fields } = tool;
  if (keepsHeaders(tool)) return Object.keys(headers).length === 0 ? fields : { ...fields, headers };
  // The service would drop the stored headers. Send them with empty values, which it rejects by header name, so that no
  // header disappears unnoticed.
  const again = { ...Object.fromEntries(names.map((name) => [name, ''])), ...headers };
  const given = Object.fromEntries(Object.entries(again).filter(([, value]) => value !== null));
  return Object.keys(given).length === 0 ? fields : { ...fields, headers: given };
}

/** Whether a tool keeps its stored headers. It does while its name and the origin of its URL are the stored ones. */
function keepsHeaders({ name, url, stored }: EditedTool): boolean {
  return stored !== undefined && name === stored.name && originOf(url) === originOf(stored.url);
}

function originOf(url: string): string {
  return urlFrom(url)?.origin ?? '';
}

/** Edits the HTTP tools of an agent. */
export function ToolsEditor(p: {
  tools: readonly EditedTool[];
  /** Error messages of the server. The key is `tools` or `tools.<index>.<field>`. */
  errors: Readonly<Record<string, string>>;
  onChange: (tools: EditedTool[]) => void;
}) {
  const { tools, errors } = p;
  const isShownInTool = Object.keys(errors).some((name) => name.startsWith('tools.'));
  const add = () => {
    const fresh = { name: '', description: '', method: 'GET' as const, url: '', parameters: NO_ARGUMENTS };
    p.onChange([...tools, { ...fresh, key: `new ${Date.now()}` }]);
  };
  return (
    <fieldset class="template">
      <legend>{AGENT_FIELDS.tools.form.label}</legend>
      <p class="hint">
        HTTP requests that the agent can make to your servers during a call. The model reads the response but never sees
        the URL. Requests time out after 10 seconds.
      </p>
      {tools.map((tool, index) => (
        <ToolFields
          key={tool.key}
          tool={tool}
          index={index}
          errors={errors}
          onChange={(part) => p.onChange(tools.map((each) => (each === tool ? { ...each, ...part } : each)))}
          onRemove={() => p.onChange(tools.filter((each) => each !== tool))}
        />
      ))}
      {errors['tools'] === undefined || isShownInTool ? null : (
        <p class="field-error" role="alert">
          {errors['tools']}
        </p>
      )}
      {tools.length >= AGENT_FIELDS.tools.max ? (
        <p class="quiet">An agent can have no more tools.</p>
      ) : (
        <button type="button" class="button button-small" onClick={add}>
          Add tool
        </button>
      )}
    </fieldset>
  );
}

function ToolFields(p: {
  tool: EditedTool;
  index: number;
  errors: Readonly<Record<string, string>>;
  onChange: (part: Partial<EditedTool>) => void;
  onRemove: () => void;
}) {
  const { tool, index, errors } = p;
  const place = `tools.${index}`;
  const isFaulty = Object.keys(errors).some((name) => name.startsWith(`${place}.`));
  // Expand new tools, and also rejected ones, because their error would otherwise be hidden.
  const [open, setOpen] = useState(tool.name === '');
  useEffect(() => {
    if (isFaulty) setOpen(true);
  }, [errors]);

  const field = <K extends 'name' | 'description' | 'method' | 'url' | 'parameters'>(name: K) => ({
    name: `${place}.${name}`,
    value: tool[name],
    error: errors[`${place}.${name}`],
    onChange: (value: string) => p.onChange({ [name]: value }),
  });
  const title = tool.name || `Tool ${index + 1}`;
  return (
    <details class="tool" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <strong>{title}</strong>{' '}
        <span class="quiet breakable">{tool.url === '' ? '' : `${tool.method} ${webhookEndpoint(tool.url)}`}</span>
      </summary>
      <TextField label="Tool name" hint="Lowercase letters, digits and _, like find_slot." {...field('name')} />
      <TextArea
        label="When to use it"
        rows={2}
        hint="Tells the model when to use the tool."
        {...field('description')}
      />
      <SelectField
        label="Method"
        hint="GET sends the parameters in the query, POST in a JSON body."
        options={METHODS}
        {...field('method')}
      />
      <TextField label="URL" type="url" placeholder="https://example.com/slots" {...field('url')} />
      <ToolParameters {...field('parameters')} />
      <ToolHeaders
        names={tool.header_names ?? []}
        kept={keepsHeaders(tool)}
        changes={tool.headers ?? {}}
        error={errors[`${place}.headers`]}
        onChange={(headers) => p.onChange({ headers })}
      />
      <button type="button" class="button button-small" onClick={p.onRemove}>
        Remove {title}
      </button>
    </details>
  );
}
