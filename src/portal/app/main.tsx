import { render } from 'preact';
import { ErrorBoundary, LocationProvider, Route, Router, useLocation } from 'preact-iso';
import { useEffect } from 'preact/hooks';
import { Empty, Skeleton } from './components/feedback';
import { PageLayout, Shell } from './layout';
import { Brand } from './shell/logo';
import { applyTheme } from './theme';
import { PortalProvider, usePortal } from './session';
import { loadPage } from './shell/load-page';
import { OldLink } from './shell/old-link';
import { modeIn } from './shell/paths';
import { UnsavedChangesProvider } from './shell/unsaved-changes';

const LogInPage = loadPage(() => import('./pages/sign-in/log-in').then((page) => page.LogInPage));
const SignUpPage = loadPage(() => import('./pages/sign-in/sign-up').then((page) => page.SignUpPage));
const AcceptInvitationPage = loadPage(() =>
  import('./pages/sign-in/accept-invitation').then((page) => page.AcceptInvitationPage),
);
const ForgotPasswordPage = loadPage(() =>
  import('./pages/sign-in/forgot-password').then((page) => page.ForgotPasswordPage),
);
const ResetPasswordPage = loadPage(() =>
  import('./pages/sign-in/reset-password').then((page) => page.ResetPasswordPage),
);
const VerifyEmailPage = loadPage(() => import('./pages/sign-in/verify-email').then((page) => page.VerifyEmailPage));
const CheckEmailPage = loadPage(() => import('./pages/sign-in/check-email').then((page) => page.CheckEmailPage));
const HomePage = loadPage(() => import('./pages/home').then((page) => page.HomePage));
const CallsPage = loadPage(() => import('./pages/calls').then((page) => page.CallsPage));
const CallPage = loadPage(() => import('./pages/call').then((page) => page.CallPage));
const AgentsPage = loadPage(() => import('./pages/agents').then((page) => page.AgentsPage));
const AgentEditorPage = loadPage(() => import('./pages/agent-editor').then((page) => page.AgentEditorPage));
const NumbersPage = loadPage(() => import('./pages/numbers').then((page) => page.NumbersPage));
const UsagePage = loadPage(() => import('./pages/usage').then((page) => page.UsagePage));
const KeysPage = loadPage(() => import('./pages/keys').then((page) => page.KeysPage));
const WebhooksPage = loadPage(() => import('./pages/webhooks').then((page) => page.WebhooksPage));
const SettingsPage = loadPage(() => import('./pages/settings').then((page) => page.SettingsPage));

function NotFound() {
  const { to } = usePortal();
  return (
    <PageLayout title="Page not found">
      <Empty
        icon="search"
        title="There is no page at this address"
        actions={
          <a class="button" href={to('')}>
            Home
          </a>
        }
      >
        The link may be old. Ctrl K or ⌘K finds pages, calls and agents.
      </Empty>
    </PageLayout>
  );
}

const PUBLIC_PAGES = [
  'log-in',
  'sign-up',
  'accept-invitation',
  'forgot-password',
  'reset-password',
  'verify-email',
  'check-email',
].map((name) => `/portal/${name}`);

/** Shows the portal. Without a session, shows the log-in page and returns to the requested page afterwards. */
function Portal() {
  const { session } = usePortal();
  const { url, path, route } = useLocation();
  const isPublicPage = PUBLIC_PAGES.includes(path);

  useEffect(() => {
    if (session === undefined && !isPublicPage) route(`/portal/log-in?to=${encodeURIComponent(url)}`, true);
  }, [session, isPublicPage, url]);

  if (isPublicPage) {
    return (
      <div class="door">
        <header>
          <Brand />
        </header>
        <main id="content">
          <Router>
            <Route path="/portal/log-in" component={LogInPage} />
            <Route path="/portal/sign-up" component={SignUpPage} />
            <Route path="/portal/accept-invitation" component={AcceptInvitationPage} />
            <Route path="/portal/forgot-password" component={ForgotPasswordPage} />
            <Route path="/portal/reset-password" component={ResetPasswordPage} />
            <Route path="/portal/verify-email" component={VerifyEmailPage} />
            <Route path="/portal/check-email" component={CheckEmailPage} />
          </Router>
        </main>
      </div>
    );
  }
  if (session === undefined) return <Skeleton />;
  const mode = modeIn(path);
  if (mode === undefined) return <OldLink key={path} />;
  return (
    <Shell>
      {/* Another mode has other data, so no state of a page is kept for it. */}
      <Router key={mode}>
        <Route path="/portal/:mode" component={HomePage} />
        <Route path="/portal/:mode/calls" component={CallsPage} />
        <Route path="/portal/:mode/calls/:id" component={CallPage} />
        <Route path="/portal/:mode/agents" component={AgentsPage} />
        <Route path="/portal/:mode/agents/:id" component={AgentEditorPage} />
        <Route path="/portal/:mode/numbers" component={NumbersPage} />
        <Route path="/portal/:mode/usage" component={UsagePage} />
        <Route path="/portal/:mode/keys" component={KeysPage} />
        <Route path="/portal/:mode/webhooks" component={WebhooksPage} />
        <Route path="/portal/:mode/settings" component={SettingsPage} />
        <Route default component={NotFound} />
      </Router>
    </Shell>
  );
}

applyTheme();
render(
  <LocationProvider scope="/portal">
    <ErrorBoundary>
      <UnsavedChangesProvider>
        <PortalProvider waiting={<Skeleton />}>
          <Portal />
        </PortalProvider>
      </UnsavedChangesProvider>
    </ErrorBoundary>
  </LocationProvider>,
  document.getElementById('app') ?? document.body,
);
