import { useCursor } from './components/pager';
import { usePortal } from './session';
import type { ListPage } from './types';
import { useData } from './use-data';

const PAGE_SIZE = 25;

/**
 * Loads one page of a list, with a cursor to the others.
 * @param key another key, such as that of another filter, goes back to the first page
 */
export function useList<T>(key: string, path: string, filters: Record<string, string | undefined> = {}) {
  const { api } = usePortal();
  const cursor = useCursor(key);
  const list = useData(`${key} ${cursor.cursor ?? ''}`, (signal) =>
    api.get<ListPage<T>>(path, { ...filters, limit: PAGE_SIZE, cursor: cursor.cursor }, signal),
  );
  return { list, cursor };
}
