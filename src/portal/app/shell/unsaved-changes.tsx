import { createContext, type ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso';
import { useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Dialog } from '../components/dialog';

interface UnsavedChanges {
  /** Stores whether a form has unsaved input. */
  mark: (form: object, isUnsaved: boolean) => void;
  /** Leaves the page: at once, or after the user has agreed to lose unsaved input. */
  leave: (action: () => void) => void;
}

const UnsavedChangesContext = createContext<UnsavedChanges>({ mark: () => undefined, leave: (action) => action() });

export const useUnsavedChanges = () => useContext(UnsavedChangesContext);

/** Asks before the user leaves the page while `isUnsaved` is true. */
export function useUnsaved(isUnsaved: boolean): void {
  const { mark } = useUnsavedChanges();
  const form = useRef({}).current;
  useEffect(() => {
    mark(form, isUnsaved);
    return () => mark(form, false);
  }, [isUnsaved]);
}

/** Lets the browser ask before it closes or reloads the page. */
function warn(event: BeforeUnloadEvent): void {
  event.preventDefault();
}

/**
 * Asks before unsaved input is lost: on links and the browser's buttons within the portal by a dialog, and by the
 * browser itself where the page is closed.
 */
export function UnsavedChangesProvider({ children }: { children: ComponentChildren }) {
  const { url, route } = useLocation();
  const [asked, setAsked] = useState<{ action: () => void }>();
  const forms = useRef(new Set<object>()).current;
  const shown = useRef(url);
  shown.current = url;

  const changes = useMemo<UnsavedChanges>(
    () => ({
      mark(form, isUnsaved) {
        if (isUnsaved) forms.add(form);
        else forms.delete(form);
        // A page with such a listener is not kept for the browser's back button, so it is added only when needed.
        removeEventListener('beforeunload', warn);
        if (forms.size > 0) addEventListener('beforeunload', warn);
      },
      leave(action) {
        if (forms.size === 0) action();
        else setAsked({ action });
      },
    }),
    [],
  );

  // Browsers call the listeners of the window in the order in which they were added. Layout effects of a child run before
  // those of its parent, the router, whose listeners would otherwise show the next page first.
  useLayoutEffect(() => {
    const onClick = (event: MouseEvent) => {
      const link = forms.size === 0 ? undefined : linkOf(event);
      if (link === undefined || link.pathname === pathnameOf(shown.current)) return;
      event.preventDefault();
      // The router must not see the click.
      event.stopImmediatePropagation();
      changes.leave(() => route(link.pathname + link.search));
    };
    const onPop = (event: PopStateEvent) => {
      if (forms.size === 0 || location.pathname === pathnameOf(shown.current)) return;
      event.stopImmediatePropagation();
      // The browser has already changed the URL, so put that of the page on top again.
      history.pushState(null, '', shown.current);
      changes.leave(() => history.back());
    };
    addEventListener('click', onClick, true);
    addEventListener('popstate', onPop, true);
    return () => {
      removeEventListener('click', onClick, true);
      removeEventListener('popstate', onPop, true);
    };
  }, []);

  function discard(): void {
    for (const form of forms) changes.mark(form, false);
    setAsked(undefined);
    asked?.action();
  }

  return (
    <UnsavedChangesContext.Provider value={changes}>
      {children}
      {asked === undefined ? null : (
        <Dialog title="Leave without saving?" onClose={() => setAsked(undefined)}>
          <p>Your input on this page is not saved and would be lost.</p>
          <div class="actions">
            <button type="button" class="button button-main" onClick={() => setAsked(undefined)}>
              Stay on this page
            </button>
            <button type="button" class="button button-bad" onClick={discard}>
              Leave without saving
            </button>
          </div>
        </Dialog>
      )}
    </UnsavedChangesContext.Provider>
  );
}

const pathnameOf = (url: string) => new URL(url, location.origin).pathname;

/** Returns the link that a click opens in this page; undefined for every other click. */
function linkOf(event: MouseEvent): HTMLAnchorElement | undefined {
  if (event.defaultPrevented || event.button !== 0) return undefined;
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return undefined;
  const link = event.composedPath().find((each) => each instanceof HTMLAnchorElement);
  if (link === undefined || link.origin !== location.origin || !link.pathname.startsWith('/portal')) return undefined;
  return link.target === '' && link.download === '' && !link.getAttribute('href')?.startsWith('#') ? link : undefined;
}
