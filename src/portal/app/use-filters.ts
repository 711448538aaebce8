import { useLocation } from 'preact-iso';
import { queryText } from './api';

/** Keeps filters in the URL, so that users can bookmark and share a view, and go back to it. */
export function useFilters<T extends Record<string, string>>(standard: T) {
  const { query, path, route } = useLocation();
  const filters = Object.fromEntries(
    Object.entries(standard).map(([name, value]) => [name, query[name] ?? value]),
  ) as T;

  function setFilters(change: Partial<T>): void {
    const next = { ...filters, ...change };
    const given = Object.entries(next).filter(([name, value]) => value !== standard[name]);
    route(path + queryText(Object.fromEntries(given)), true);
  }

  return { filters, setFilters };
}
