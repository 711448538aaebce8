import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso';
import { useEffect, useState } from 'preact/hooks';
import type { Mode } from './api';
import { VerificationBanner } from './components/verification';
import { usePortal } from './session';

const PAGES = [
  { path: '/portal', name: 'Home' },
  { path: '/portal/calls', name: 'Calls' },
  { path: '/portal/agents', name: 'Agents' },
  { path: '/portal/numbers', name: 'Phone numbers' },
  { path: '/portal/usage', name: 'Usage' },
  { path: '/portal/keys', name: 'API keys' },
  { path: '/portal/webhooks', name: 'Webhooks' },
  { path: '/portal/settings', name: 'Settings' },
];

/** The frame around all pages for logged-in members. */
export function Shell({ children }: { children: ComponentChildren }) {
  const { path, route } = useLocation();
  const { api, session, mode, forget } = usePortal();
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
            <span class="brand">Callwright</span>
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
                  <a href={page.path} {...(isCurrent(page.path, path) ? { 'aria-current': 'page' as const } : {})}>
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
            <button type="button" class="button button-small" onClick={() => void logOut()}>
              Log out
            </button>
          </div>
        </header>
        <div>
          <VerificationBanner />
          {mode === 'test' ? (
            <aside class="test-banner" aria-label="Mode">
              Test mode: calls are simulated and cost no real money.
            </aside>
          ) : null}
          <main id="content" tabIndex={-1}>
            {children}
          </main>
        </div>
      </div>
    </>
  );
}

function isCurrent(page: string, path: string): boolean {
  return page === '/portal' ? path === page || path === `${page}/` : path === page || path.startsWith(`${page}/`);
}

function ModeSwitch() {
  const { mode, setMode } = usePortal();
  const choice = (value: Mode, label: string) => (
    <label>
      <input type="radio" name="mode" value={value} checked={mode === value} onChange={() => setMode(value)} />
      {label}
    </label>
  );
  return (
    <fieldset class="modes" aria-label="Mode">
      {choice('test', 'Test')}
      {choice('live', 'Live')}
    </fieldset>
  );
}

/** A page with its heading and actions. */
export function PageLayout(p: { title: string; actions?: ComponentChildren; children: ComponentChildren }) {
  useEffect(() => {
    document.title = `${p.title} · Callwright`;
  }, [p.title]);
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
