import { useLocation } from 'preact-iso';
import { useEffect } from 'preact/hooks';
import { usePortal } from './session';

/**
 * Sets the title of a sign-in page and leaves it as soon as there is a session.
 * @param destination portal path to open then
 */
export function useEntrance(title: string, destination = '/portal'): void {
  const { session } = usePortal();
  const { route } = useLocation();
  useEffect(() => {
    document.title = `${title} · Callwright`;
    if (session !== undefined) route(destination, true);
  }, [session]);
}
