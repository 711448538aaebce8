import { useEffect, useState } from 'preact/hooks';
import { AGENT_FIELDS } from '../../../../agents/agent-definition.js';
import { webhookEndpoint } from '../../../../kernel/webhook-endpoint.js';
import { SmallButton } from '../buttons';
import { SelectField, TextArea, TextField } from '../fields';
import { keepsHeaders, type EditedTool } from './edited-tools';
import { ListError } from './rows';
import { ToolHeaders } from './tool-headers';
import { ToolParameters } from './tool-parameters';

const METHODS = ['GET', 'POST'].map((value) => ({ value, label: value }));
const NO_ARGUMENTS = '{"type":"object","properties":{}}';

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
        the URL. Requests time out after 10 seconds. The offline demo uses no tools.
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
      {isShownInTool ? null : <ListError>{errors['tools']}</ListError>}
      {tools.length >= AGENT_FIELDS.tools.max ? (
        <p class="quiet">An agent can have no more tools.</p>
      ) : (
        <SmallButton onClick={add}>Add tool</SmallButton>
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
      <SmallButton onClick={p.onRemove}>{`Remove ${title}`}</SmallButton>
    </details>
  );
}
