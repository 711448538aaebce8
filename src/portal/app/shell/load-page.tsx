import type { ComponentType } from 'preact';
import { lazy } from 'preact-iso';

const RELOADED_FOR = 'callwright-reloaded-for';
const CHECK_TIMEOUT_MS = 10_000;
const SCRIPT = /\/portal\/assets\/app-\w+\.js/;

/**
 * Loads a page's script when it is first needed. A deployment replaces the files of the one before, so a script that
 * cannot be loaded any more makes the browser load the new portal.
 */
export function loadPage(load: () => Promise<ComponentType>): ComponentType {
  return lazy(() =>
    load().catch(async () => {
      // The browser leaves this page, so nothing is left to show.
      if (await reloadsNewPortal()) return new Promise<ComponentType>(() => undefined);
      return PageNotLoaded;
    }),
  );
}

/**
 * Reloads the page if another version of the portal is deployed. Reloads once for a version, so that servers with
 * different versions cause no loop.
 */
async function reloadsNewPortal(): Promise<boolean> {
  const current = document.querySelector<HTMLScriptElement>('script[type=module]')?.src ?? '';
  const options = { cache: 'no-store', signal: AbortSignal.timeout(CHECK_TIMEOUT_MS) } as const;
  const deployed = await fetch('/portal', options).then(
    async (response) => SCRIPT.exec(await response.text())?.[0],
    () => undefined,
  );
  if (deployed === undefined || current.endsWith(deployed)) return false;
  if (sessionStorage.getItem(RELOADED_FOR) === deployed) return false;
  sessionStorage.setItem(RELOADED_FOR, deployed);
  location.reload();
  return true;
}

function PageNotLoaded() {
  return (
    <div class="notice notice-bad" role="alert">
      <h1>This page could not be loaded</h1>
      <p>Check your connection and try again.</p>
      <button type="button" class="button" onClick={() => location.reload()}>
        Try again
      </button>
    </div>
  );
}
