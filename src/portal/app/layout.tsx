import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso';
import { useEffect, useState } from 'preact/hooks';
import { Commands } from './shell/commands/commands';
import { VerificationBanner } from './shell/verification';
import { Icon } from './components/icon';
import { labelOf } from './labels';
import { usePortal } from './session';
import { Brand } from './shell/logo';
import { isCurrent, pageInOtherMode, PAGES } from './shell/pages';
import { pathIn } from './shell/paths';
import { useUnsavedChanges } from './shell/unsaved-changes';
import { useTitle } from './use-title';

/** The frame around all pages for logged-in members. */
export function Shell({ children }: { children: ComponentChildren }) {
  const { path } = useLocation();
  const [open, setOpen] = useState(false);
  useEffect(() => setOpen(false), [path]);

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
              <Icon name={open ? 'close' : 'menu'} /> Menu
            </button>
          </div>
          <Commands />
          <ModeSwitch />
          <PageLinks />
          <LoggedInMember />
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

function PageLinks() {
  const { path } = useLocation();
  const { to } = usePortal();
  return (
    <nav aria-label="Pages">
      <ul>
        {PAGES.map((page) => (
          <li key={page.path}>
            <a href={to(page.path)} {...(isCurrent(page.path, path) ? { 'aria-current': 'page' as const } : {})}>
              <Icon name={page.icon} />
              {page.name}
            </a>
          </li>
        ))}
        <li>
          <a href="/docs" target="_blank" rel="noreferrer">
            <Icon name="docs" />
            API reference
          </a>
        </li>
      </ul>
    </nav>
  );
}

/** Names the member and the account, and logs out. */
function LoggedInMember() {
  const { route } = useLocation();
  const { api, session, forget } = usePortal();
  const { leave } = useUnsavedChanges();

  async function logOut(): Promise<void> {
    await api.post('/portal/log-out').catch(() => undefined);
    forget();
    route('/portal/log-in');
  }

  return (
    <div class="side-foot">
      <span title={session?.member.email ?? ''}>{session?.member.email}</span>
      <span class="quiet">
        {session?.account.name} · {session?.member.role}
      </span>
      <button type="button" class="button button-small" onClick={() => leave(() => void logOut())}>
        <Icon name="logOut" /> Log out
      </button>
    </div>
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

function ModeSwitch() {
  const { url, path } = useLocation();
  const { mode } = usePortal();
  const page = pageInOtherMode(url, path);
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
