import { useLocation } from 'preact-iso';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { CallSummary } from '../../../../calls/views/schemas.js';
import { labelOf } from '../../labels';
import { usePortal } from '../../session';
import type { ListPage } from '../../types';
import { ownAgentsFirst, useAgents } from '../../use-agents';
import { useData } from '../../use-data';
import { pageInOtherMode, PAGES } from '../pages';
import { otherMode, pathIn } from '../paths';
import { callTexts, type DialogProps, type Entry, type Group } from './palette-entries';
import { agentsFound, CALL_ID, hasWords, MOST_ENTRIES } from './palette-search';

/** How long to wait for the next key before searching. */
const SEARCH_AFTER_MS = 200;

/** Returns the results for a text: pages and commands at once, agents and calls when they are loaded. */
export function useEntries(text: string, on: DialogProps): { groups: Group[]; isLoading: boolean } {
  const { mode, to } = usePortal();
  const agents = useAgents();
  const calls = useCalls(text.trim());
  const open = (path: string) => () => on.onOpen(to(path));
  const pages = PAGES.filter(({ name }) => hasWords(name, text)).map(({ path, name, icon }): Entry => ({
    id: `page${path}`,
    icon,
    name,
    run: open(path),
  }));
  const found = agentsFound(ownAgentsFirst(agents.data ?? [], mode), text).map(
    ({ agent_id: id, name, mode: made }): Entry => ({
      id,
      icon: 'agents',
      name,
      ...(mode === 'test' ? { detail: labelOf(made) } : {}),
      run: open(`/agents/${id}`),
    }),
  );
  const ofCalls = calls.shown.map((call): Entry => ({
    id: call.call_id,
    icon: 'calls',
    ...callTexts(call),
    run: open(`/calls/${call.call_id}`),
  }));
  const id = text.trim();
  if (CALL_ID.test(id)) ofCalls.unshift({ id, icon: 'calls', name: id, run: open(`/calls/${id}`) });
  const groups = [
    { name: 'Pages', entries: pages },
    { name: 'Agents', entries: found },
    { name: text === '' ? 'Recent calls' : 'Calls', entries: ofCalls },
    { name: 'Commands', entries: useCommands(on).filter(({ name }) => hasWords(name, text)) },
  ];
  return {
    groups: groups.filter(({ entries }) => entries.length > 0),
    isLoading: agents.state === 'loading' || calls.isLoading,
  };
}

/** Results that are neither a page nor a call nor an agent. */
function useCommands(on: DialogProps): Entry[] {
  const { mode, to } = usePortal();
  const { url, path } = useLocation();
  const other = otherMode(mode);
  return [
    { id: 'create', icon: 'plus', name: 'Create agent', run: () => on.onOpen(to('/agents/new')) },
    {
      id: 'mode',
      icon: 'switchMode',
      name: `Switch to ${other} mode`,
      run: () => on.onOpen(pathIn(other, pageInOtherMode(url, path))),
    },
    { id: 'shortcuts', icon: 'keyboard', name: 'Keyboard shortcuts', run: on.onShortcuts },
    {
      id: 'docs',
      icon: 'docs',
      name: 'API reference',
      run: () => {
        open('/docs', '_blank', 'noreferrer');
        on.onClose();
      },
    },
  ];
}

/** Searches calls a moment after the last key. Until they are loaded, those found before stay. */
function useCalls(text: string): { shown: readonly CallSummary[]; isLoading: boolean } {
  const { api, mode } = usePortal();
  const [search, setSearch] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSearch(text), SEARCH_AFTER_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const calls = useData(`${mode} ${search}`, (signal) =>
    api.get<ListPage<CallSummary>>('/calls', { limit: MOST_ENTRIES, search: search || undefined }, signal),
  );
  const last = useRef<readonly CallSummary[]>([]);
  if (calls.state === 'ready') last.current = calls.data.data;
  if (calls.state === 'failed') last.current = [];
  return { shown: last.current, isLoading: calls.state === 'loading' || search !== text };
}
