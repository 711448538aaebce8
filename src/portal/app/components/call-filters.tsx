import { useEffect, useState } from 'preact/hooks';
import { CALL_STATUSES } from '../../../kernel/call-state.js';
import type { Agent } from '../../../agents/schemas.js';
import { labelOf } from '../labels';
import { usePortal } from '../session';
import type { ListPage } from '../types';
import { useData } from '../use-data';
import { SelectField, TextField } from './fields';
import { PeriodFields } from './period-fields';

export const CALL_FILTERS = { search: '', status: '', direction: '', agent_id: '', from: '', to: '' };
export type CallFilters = typeof CALL_FILTERS;

const ANY = { value: '', label: 'Any' };
const STATUSES = [ANY, ...CALL_STATUSES.map((value) => ({ value, label: labelOf(value) }))];
const DIRECTIONS = [ANY, { value: 'outbound', label: 'Outbound' }, { value: 'inbound', label: 'Inbound' }];
/** How long to wait for the next key before searching. */
const SEARCH_AFTER_MS = 300;
const MAX_AGENT_PAGES = 5;

interface Props {
  filters: CallFilters;
  onChange: (change: Partial<CallFilters>) => void;
}

export function CallFilterFields({ filters, onChange }: Props) {
  return (
    <div class="filters" role="search" aria-label="Find calls">
      <SearchField filters={filters} onChange={onChange} />
      <SelectField
        label="Status"
        name="status"
        value={filters.status}
        options={STATUSES}
        onChange={(status) => onChange({ status })}
      />
      <SelectField
        label="Direction"
        name="direction"
        value={filters.direction}
        options={DIRECTIONS}
        onChange={(direction) => onChange({ direction })}
      />
      <AgentSelect filters={filters} onChange={onChange} />
      <PeriodFields period={filters} onChange={onChange} />
    </div>
  );
}

function SearchField({ filters: { search }, onChange }: Props) {
  const [text, setText] = useState(search);
  useEffect(() => setText(search), [search]);
  useEffect(() => {
    if (text === search) return undefined;
    const timer = setTimeout(() => onChange({ search: text }), SEARCH_AFTER_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div class="search-field">
      <TextField
        label="Search"
        name="search"
        value={text}
        placeholder="Words, phone number or external ID"
        onChange={setText}
      />
    </div>
  );
}

/** Selects an agent by its name. */
function AgentSelect({ filters, onChange }: Props) {
  const { api, mode } = usePortal();
  const agents = useData(mode, async (signal) => {
    const found: Agent[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_AGENT_PAGES; page++) {
      const list: ListPage<Agent> = await api.get('/agents', { limit: 100, cursor }, signal);
      found.push(...list.data);
      cursor = list.next_cursor;
      if (cursor === undefined) break;
    }
    return found;
  });
  const id = filters.agent_id;
  const named = (agents.data ?? []).map((agent) => ({
    value: agent.agent_id,
    label: agent.mode === 'test' ? `${agent.name} (test)` : agent.name,
  }));
  // An archived or temporary agent is not in the list.
  const other = id === '' || named.some(({ value }) => value === id) ? [] : [{ value: id, label: id }];
  return (
    <SelectField
      label="Agent"
      name="agent_id"
      value={id}
      options={[ANY, ...named.toSorted((a, b) => a.label.localeCompare(b.label)), ...other]}
      onChange={(agent_id) => onChange({ agent_id })}
    />
  );
}
