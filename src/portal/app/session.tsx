import { createContext } from 'preact';
import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useMemo, useState } from 'preact/hooks';
import { createApi, type Api, type Mode } from './api';
import type { PortalSession } from '../../identity/sign-in/schemas.js';

interface Portal {
  api: Api;
  /** Undefined without a log-in. */
  session: PortalSession | undefined;
  mode: Mode;
  setMode: (mode: Mode) => void;
  /** Reloads the session after a log-in or a change to the member's data. */
  refresh: () => Promise<void>;
  forget: () => void;
}

const PortalContext = createContext<Portal | undefined>(undefined);

export function usePortal(): Portal {
  const portal = useContext(PortalContext);
  if (portal === undefined) throw new Error('usePortal needs a PortalProvider');
  return portal;
}

const MODE_KEY = 'callwright-mode';

/** Provides the session and the selected mode. The mode is stored in the browser. */
export function PortalProvider({ children, waiting }: { children: ComponentChildren; waiting: ComponentChildren }) {
  const [session, setSession] = useState<PortalSession>();
  const [known, setKnown] = useState(false);
  const [mode, setModeState] = useState<Mode>(localStorage.getItem(MODE_KEY) === 'live' ? 'live' : 'test');

  const portal = useMemo<Portal>(() => {
    const api = createApi({ mode: () => mode, onSessionLost: () => setSession(undefined) });
    return {
      api,
      session,
      mode,
      setMode(next) {
        localStorage.setItem(MODE_KEY, next);
        setModeState(next);
      },
      async refresh() {
        setSession(await api.get<PortalSession>('/portal/session'));
      },
      forget: () => setSession(undefined),
    };
  }, [mode, session]);

  useEffect(() => {
    portal
      .refresh()
      .catch(() => setSession(undefined))
      .finally(() => setKnown(true));
    // The empty list makes this effect run only once.
  }, []);

  return <PortalContext.Provider value={portal}>{known ? children : waiting}</PortalContext.Provider>;
}
