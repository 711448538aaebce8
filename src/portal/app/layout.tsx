import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso';
import { useEffect, useState } from 'preact/hooks';
import { VerificationBanner } from './components/verification';
import { labelOf } from './labels';
import { usePortal } from './session';
import { Brand } from './shell/logo';
import { pathIn, withoutMode } from './shell/paths';
import { useUnsavedChanges } from './shell/unsaved-changes';
import { useTitle } from './use-title';

const PAGES = [
  { path: '', name: 'Home' },
  { path: '/calls', name: 'Calls' },
  { path: '/agents', name: 'Agents' },
  { path: '/numbers', name: 'Phone numbers' },
  { path: '/usage', name: 'Usage' },
  { path: '/keys', name: 'API keys' },
  { path: '/webhooks', name: 'Webhooks' },
  { path: '/settings', name: 'Settings' },
];

/** The frame around all pages for logged-in members. */
export function Shell({ children }: { children: ComponentChildren }) {
  const { path, route } = useLocation();
  const { api, session, to, forget } = usePortal();
  const { leave } = useUnsavedChanges();
  const [open, setOpen] = useState(false);
  useEffect(() => setOpen(false), [path]);

  async function logOut(): Promise<void> {
    await api.post('/portal/log-out').catch(() => undefined);
    forget();
    route('/portal/log-in');
  }

  return (
    <>
      <a class="skip" href="#content">
        Skip to content
      </a>
      <div class="shell">
        <header class={`side ${open ? 'open' : ''}`}>
          <div class="side-head">
            <Brand />
            <button
              type="button"
              class="button button-small menu-button"
              aria-expanded={open}
              onClick={() => setOpen(!open)}
            >
              Menu
            </button>
          </div>
          <ModeSwitch />
          <nav aria-label="Pages">
            <ul>
              {PAGES.map((page) => (
                <li key={page.path}>
                  <a href={to(page.path)} {...(isCurrent(page.path, path) ? { 'aria-current': 'page' as const } : {})}>
                    {page.name}
                  </a>
                </li>
              ))}
              <li>
                <a href="/docs" target="_blank" rel="noreferrer">
                  API reference
                </a>
              </li>
            </ul>
          </nav>
          <div class="side-foot">
            <span>{session?.member.email}</span>
            <span class="quiet">
              {session?.account.name} · {session?.member.role}
            </span>
            <button type="button" class="button button-small" onClick={() => leave(() => void logOut())}>
              Log out
            </button>
          </div>
        </header>
        <div>
          <VerificationBanner />
          <ModeBanner />
          <main id="content" tabIndex={-1}>
            {children}
          </main>
        </div>
      </div>
    </>
  );
}

/** Says what is special about the calls of this mode; renders nothing for real calls. */
function ModeBanner() {
  const { mode, session } = usePortal();
  if (mode === 'live' && session?.live_calls_simulated !== true) return null;
  return (
    <aside class="test-banner" aria-label="Calls in this mode">
      {mode === 'test'
        ? 'Test mode: calls are simulated and cost no real money.'
        : 'Live mode on the simulated carrier: no phone rings. Calls are billed to the live balance.'}
    </aside>
  );
}

/** @param page path within its mode */
function isCurrent(page: string, path: string): boolean {
  const shown = withoutMode(path);
  return shown === page || (page !== '' && shown.startsWith(`${page}/`));
}

/** A path of something that exists in one mode only. */
const OF_ONE_MODE = /\/(call|agent)_\w+$/;

function ModeSwitch() {
  const { url, path } = useLocation();
  const { mode } = usePortal();
  const inMode = withoutMode(path);
  const page = OF_ONE_MODE.test(inMode)
    ? inMode.replace(OF_ONE_MODE, '')
    : inMode + new URL(url, location.origin).search;
  return (
    <nav class="modes" aria-label="Mode">
      {(['test', 'live'] as const).map((each) => (
        <a key={each} href={pathIn(each, page)} {...(each === mode ? { 'aria-current': 'true' as const } : {})}>
          {labelOf(each)}
        </a>
      ))}
    </nav>
  );
}

/** A page with its heading and actions. */
export function PageLayout(p: { title: string; actions?: ComponentChildren; children: ComponentChildren }) {
  useTitle(p.title);
  return (
    <>
      <div class="page-head">
        <h1>{p.title}</h1>
        <div class="actions">{p.actions}</div>
      </div>
      {p.children}
    </>
  );
}
