import { useLocation } from 'preact-iso';
import { useEffect } from 'preact/hooks';
import { usePortal } from '../../session';

/**
 * Sets the title of a sign-in page. When the member has a session, opens another page.
 * @param destination portal path to open then
 */
export function useLogInRedirect(title: string, destination = '/portal'): void {
  const { session } = usePortal();
  const { route } = useLocation();
  useEffect(() => {
    document.title = `${title} · Callwright`;
    if (session !== undefined) route(destination, true);
  }, [session]);
}
