import { render } from 'preact';
import { ErrorBoundary, lazy, LocationProvider, Route, Router, useLocation } from 'preact-iso';
import { useEffect } from 'preact/hooks';
import { Skeleton } from './components/feedback';
import { Shell } from './layout';
import { applyTheme } from './theme';
import { PortalProvider, usePortal } from './session';

const LogIn = lazy(() => import('./pages/log-in').then((page) => page.LogIn));
const SignUp = lazy(() => import('./pages/sign-up').then((page) => page.SignUp));
const AcceptInvitation = lazy(() => import('./pages/accept-invitation').then((page) => page.AcceptInvitation));
const ForgotPassword = lazy(() => import('./pages/forgot-password').then((page) => page.ForgotPassword));
const ResetPassword = lazy(() => import('./pages/reset-password').then((page) => page.ResetPassword));
const VerifyEmail = lazy(() => import('./pages/verify-email').then((page) => page.VerifyEmail));
const CheckEmail = lazy(() => import('./pages/check-email').then((page) => page.CheckEmail));
const Home = lazy(() => import('./pages/home').then((page) => page.Home));
const Calls = lazy(() => import('./pages/calls').then((page) => page.Calls));
const Call = lazy(() => import('./pages/call').then((page) => page.Call));
const Agents = lazy(() => import('./pages/agents').then((page) => page.Agents));
const AgentEditor = lazy(() => import('./pages/agent-editor').then((page) => page.AgentEditor));
const Numbers = lazy(() => import('./pages/numbers').then((page) => page.Numbers));
const Usage = lazy(() => import('./pages/usage').then((page) => page.Usage));
const Keys = lazy(() => import('./pages/keys').then((page) => page.Keys));
const Webhooks = lazy(() => import('./pages/webhooks').then((page) => page.Webhooks));
const Settings = lazy(() => import('./pages/settings').then((page) => page.Settings));
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
            <Route path="/portal/log-in" component={LogIn} />
            <Route path="/portal/sign-up" component={SignUp} />
            <Route path="/portal/accept-invitation" component={AcceptInvitation} />
            <Route path="/portal/forgot-password" component={ForgotPassword} />
            <Route path="/portal/reset-password" component={ResetPassword} />
            <Route path="/portal/verify-email" component={VerifyEmail} />
            <Route path="/portal/check-email" component={CheckEmail} />
          </Router>
        </main>
      </div>
    );
  }
  if (session === undefined) return <Skeleton />;
  return (
    <Shell>
      <Router>
        <Route path="/portal" component={Home} />
        <Route path="/portal/calls" component={Calls} />
        <Route path="/portal/calls/:id" component={Call} />
        <Route path="/portal/agents" component={Agents} />
        <Route path="/portal/agents/:id" component={AgentEditor} />
        <Route path="/portal/numbers" component={Numbers} />
        <Route path="/portal/usage" component={Usage} />
        <Route path="/portal/keys" component={Keys} />
        <Route path="/portal/webhooks" component={Webhooks} />
        <Route path="/portal/settings" component={Settings} />
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
