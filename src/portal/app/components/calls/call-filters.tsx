import { useEffect, useState } from 'preact/hooks';
import { CALL_STATUSES } from '../../../../kernel/call-state.js';
import { usePortal } from '../../session';
import { nameWithMode, useAgents } from '../../use-agents';
import { TextField } from '../fields';
import { ANY, anyOf, FilterSelect, PeriodFields } from '../filters';

export const CALL_FILTERS = { search: '', status: '', direction: '', agent_id: '', from: '', to: '' };
export type CallFilters = typeof CALL_FILTERS;

const STATUSES = anyOf(CALL_STATUSES);
const DIRECTIONS = anyOf(['outbound', 'inbound']);
/** How long to wait for the next key before searching. */
const SEARCH_AFTER_MS = 300;

interface Props {
  filters: CallFilters;
  onChange: (change: Partial<CallFilters>) => void;
}

export function CallFilterFields({ filters, onChange }: Props) {
  return (
    <div class="filters" role="search" aria-label="Find calls">
      <SearchField filters={filters} onChange={onChange} />
      <FilterSelect label="Status" name="status" options={STATUSES} filters={filters} onChange={onChange} />
      <FilterSelect label="Direction" name="direction" options={DIRECTIONS} filters={filters} onChange={onChange} />
      <AgentSelect filters={filters} onChange={onChange} />
      <PeriodFields filters={filters} onChange={onChange} />
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
  const { mode } = usePortal();
  const agents = useAgents();
  const id = filters.agent_id;
  const named = (agents.data ?? []).map((agent) => ({
    value: agent.agent_id,
    label: nameWithMode(agent, mode),
  }));
  // An archived or temporary agent is not in the list.
  const other = id === '' || named.some(({ value }) => value === id) ? [] : [{ value: id, label: id }];
  return (
    <FilterSelect
      label="Agent"
      name="agent_id"
      options={[ANY, ...named.toSorted((a, b) => a.label.localeCompare(b.label)), ...other]}
      filters={filters}
      onChange={onChange}
    />
  );
}
