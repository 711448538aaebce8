import { useLocation } from 'preact-iso';
import { useEffect } from 'preact/hooks';
import { usePortal } from './session';

/**
 * Of a page that lets somebody in: its title, and on to where they wanted as soon as they have a session.
 * @param destination a path of the portal
 */
export function useEntrance(title: string, destination = '/portal'): void {
  const { session } = usePortal();
  const { route } = useLocation();
  useEffect(() => {
    document.title = `${title} · Callwright`;
    if (session !== undefined) route(destination, true);
  }, [session]);
}
