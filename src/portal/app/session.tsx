import { createContext } from 'preact';
import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso';
import { useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { createApi, isUnreachable, type Api, type Mode } from './api';
import type { PortalSession } from '../../identity/sign-in/schemas.js';
import { ConnectionLostContext, ConnectionNotice, createConnection } from './shell/connection';
import { LogInAgain } from './shell/log-in-again';
import { modeIn, pathIn, storedMode, storeMode } from './shell/paths';

interface Portal {
  api: Api;
  /** Undefined without a log-in. */
  session: PortalSession | undefined;
  /** The mode in the URL of the page. */
  mode: Mode;
  /** Returns the portal's path of a page in this mode. @param path such as `/calls`; empty for the home page */
  to: (path: string) => string;
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

/** A request to log in again, which all requests without a valid session share. */
interface Renewal {
  done: Promise<boolean>;
  finish: (isRenewed: boolean) => void;
}

/** Keeps the session, and asks for the password when it has ended. */
function useSession() {
  const [session, setSession] = useState<PortalSession>();
  const [renewal, setRenewal] = useState<Renewal>();
  // Requests that began earlier read these, too.
  const latest = useRef<{ session?: PortalSession | undefined; renewal?: Renewal | undefined }>({}).current;

  function store(next: PortalSession | undefined): void {
    latest.session = next;
    setSession(next);
  }

  function renew(): Promise<boolean> {
    if (latest.session === undefined) return Promise.resolve(false);
    if (latest.renewal === undefined) {
      let finish: Renewal['finish'] = () => undefined;
      const done = new Promise<boolean>((resolve) => (finish = resolve));
      latest.renewal = { done, finish };
      setRenewal(latest.renewal);
    }
    return latest.renewal.done;
  }

  /** Ends the renewal. @param next the new session; undefined: the user logs out */
  function conclude(next: PortalSession | undefined): void {
    store(next);
    latest.renewal?.finish(next !== undefined);
    latest.renewal = undefined;
    setRenewal(undefined);
  }

  return { session, store, renewal, renew, conclude };
}

/** Provides the session, the mode of the page and whether the connection to the service is lost. */
export function PortalProvider({ children, waiting }: { children: ComponentChildren; waiting: ComponentChildren }) {
  const { path } = useLocation();
  const { session, store, renewal, renew, conclude } = useSession();
  const [known, setKnown] = useState(false);
  const [isConnectionLost, setConnectionLost] = useState(false);
  const connection = useMemo(() => createConnection(setConnectionLost), []);
  const modeOfPage = modeIn(path);
  const mode = modeOfPage ?? storedMode();

  const api = useMemo(
    () => createApi({ mode: () => mode, renewSession: renew, onReachable: connection.report }),
    [mode],
  );
  const portal = useMemo<Portal>(
    () => ({
      api,
      session,
      mode,
      to: (page) => pathIn(mode, page),
      async refresh() {
        store(await api.get<PortalSession>('/portal/session'));
      },
      forget: () => store(undefined),
    }),
    [api, session],
  );

  useEffect(() => {
    if (modeOfPage !== undefined) storeMode(modeOfPage);
  }, [modeOfPage]);
  useEffect(() => connection.watch(), []);
  useEffect(() => {
    if (known || isConnectionLost) return;
    portal.refresh().then(
      () => setKnown(true),
      // Without a connection it is unknown whether there is a session.
      (error: unknown) => setKnown(!isUnreachable(error)),
    );
  }, [isConnectionLost]);

  return (
    <PortalContext.Provider value={portal}>
      <ConnectionLostContext.Provider value={isConnectionLost}>
        <ConnectionNotice />
        {known ? children : waiting}
        {renewal === undefined || session === undefined ? null : (
          <LogInAgain api={api} email={session.member.email} onLogIn={conclude} onLogOut={() => conclude(undefined)} />
        )}
      </ConnectionLostContext.Provider>
    </PortalContext.Provider>
  );
}
