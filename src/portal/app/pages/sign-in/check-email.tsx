import { SendAgain } from '../../shell/verification';
import { usePortal } from '../../session';
import { useTitle } from '../../use-title';

/** The page shown after a sign-up until the email address is verified. */
export function CheckEmailPage() {
  const { session } = usePortal();
  useTitle('Check your e-mail');
  return (
    <section class="card">
      <h1>Check your e-mail</h1>
      <p>
        We sent a verification link to {session?.member.email ?? 'your e-mail address'}. The link is valid for 30
        minutes. Until then you have a test balance of 1 USD and can place one call at a time.
      </p>
      <div class="actions">
        <a class="button button-main" href="/portal">
          Continue
        </a>
        <SendAgain />
      </div>
    </section>
  );
}
