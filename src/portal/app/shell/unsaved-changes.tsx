import { createContext, type ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso';
import { useContext, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
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
  // In the same step as the new picture: who sees "Saved." and then follows a link is not asked.
  useLayoutEffect(() => {
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
  const [asked, setAsked] = useState<{ action: () => void }>();
  const forms = useRef(new Set<object>()).current;
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

  useNavigationGuard(() => forms.size > 0, changes.leave);

  function discard(): void {
    for (const form of forms) changes.mark(form, false);
    setAsked(undefined);
    asked?.action();
  }

  return (
    <UnsavedChangesContext.Provider value={changes}>
      {children}
      {asked === undefined ? null : <LeaveDialog onStay={() => setAsked(undefined)} onLeave={discard} />}
    </UnsavedChangesContext.Provider>
  );
}

function LeaveDialog({ onStay, onLeave }: { onStay: () => void; onLeave: () => void }) {
  return (
    <Dialog title="Leave without saving?" onClose={onStay}>
      <p>Your input on this page is not saved and would be lost.</p>
      <div class="actions">
        <button type="button" class="button button-main" onClick={onStay}>
          Stay on this page
        </button>
        <button type="button" class="button button-bad" onClick={onLeave}>
          Leave without saving
        </button>
      </div>
    </Dialog>
  );
}

/**
 * Keeps links and the browser's buttons from leaving the page while something is unsaved.
 * @param hasUnsaved is asked at each click
 * @param leave receives what would have shown the other page
 */
function useNavigationGuard(hasUnsaved: () => boolean, leave: UnsavedChanges['leave']): void {
  const { url, route } = useLocation();
  const shown = useRef(url);
  shown.current = url;
  // Browsers call the listeners of the window in the order in which they were added. Layout effects of a child run before
  // those of its parent, the router, whose listeners would otherwise show the next page first.
  useLayoutEffect(() => {
    const onClick = (event: MouseEvent) => {
      const link = hasUnsaved() ? linkOf(event) : undefined;
      if (link === undefined || link.pathname === pathnameOf(shown.current)) return;
      event.preventDefault();
      // The router must not see the click.
      event.stopImmediatePropagation();
      leave(() => route(link.pathname + link.search));
    };
    const onPop = (event: PopStateEvent) => {
      if (!hasUnsaved() || location.pathname === pathnameOf(shown.current)) return;
      event.stopImmediatePropagation();
      // The browser has already changed the URL, so put that of the page on top again.
      history.pushState(null, '', shown.current);
      leave(() => history.back());
    };
    addEventListener('click', onClick, true);
    addEventListener('popstate', onPop, true);
    return () => {
      removeEventListener('click', onClick, true);
      removeEventListener('popstate', onPop, true);
    };
  }, []);
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
