import { render } from 'preact';
import { ErrorBoundary, lazy, LocationProvider, Route, Router, useLocation } from 'preact-iso';
import { useEffect } from 'preact/hooks';
import { Skeleton } from './components/feedback';
import { Shell } from './layout';
import { applyTheme } from './theme';
import { PortalProvider, usePortal } from './session';

const LogInPage = lazy(() => import('./pages/log-in').then((page) => page.LogInPage));
const SignUpPage = lazy(() => import('./pages/sign-up').then((page) => page.SignUpPage));
const AcceptInvitationPage = lazy(() => import('./pages/accept-invitation').then((page) => page.AcceptInvitationPage));
const ForgotPasswordPage = lazy(() => import('./pages/forgot-password').then((page) => page.ForgotPasswordPage));
const ResetPasswordPage = lazy(() => import('./pages/reset-password').then((page) => page.ResetPasswordPage));
const VerifyEmailPage = lazy(() => import('./pages/verify-email').then((page) => page.VerifyEmailPage));
const CheckEmailPage = lazy(() => import('./pages/check-email').then((page) => page.CheckEmailPage));
const HomePage = lazy(() => import('./pages/home').then((page) => page.HomePage));
const CallsPage = lazy(() => import('./pages/calls').then((page) => page.CallsPage));
const CallPage = lazy(() => import('./pages/call').then((page) => page.CallPage));
const AgentsPage = lazy(() => import('./pages/agents').then((page) => page.AgentsPage));
const AgentEditorPage = lazy(() => import('./pages/agent-editor').then((page) => page.AgentEditorPage));
const NumbersPage = lazy(() => import('./pages/numbers').then((page) => page.NumbersPage));
const UsagePage = lazy(() => import('./pages/usage').then((page) => page.UsagePage));
const KeysPage = lazy(() => import('./pages/keys').then((page) => page.KeysPage));
const WebhooksPage = lazy(() => import('./pages/webhooks').then((page) => page.WebhooksPage));
const SettingsPage = lazy(() => import('./pages/settings').then((page) => page.SettingsPage));
const NotFound = () => <p>Page not found.</p>;

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
  return (
    <Shell>
      <Router>
        <Route path="/portal" component={HomePage} />
        <Route path="/portal/calls" component={CallsPage} />
        <Route path="/portal/calls/:id" component={CallPage} />
        <Route path="/portal/agents" component={AgentsPage} />
        <Route path="/portal/agents/:id" component={AgentEditorPage} />
        <Route path="/portal/numbers" component={NumbersPage} />
        <Route path="/portal/usage" component={UsagePage} />
        <Route path="/portal/keys" component={KeysPage} />
        <Route path="/portal/webhooks" component={WebhooksPage} />
        <Route path="/portal/settings" component={SettingsPage} />
        <Route default component={NotFound} />
      </Router>
    </Shell>
  );
}

applyTheme();
render(
  <LocationProvider scope="/portal">
    <ErrorBoundary>
      <PortalProvider waiting={<Skeleton />}>
        <Portal />
      </PortalProvider>
    </ErrorBoundary>
  </LocationProvider>,
  document.getElementById('app') ?? document.body,
);
