import { SendAgain } from '../components/verification';
import { usePortal } from '../session';
import { useTitle } from '../use-title';

/** Shown after a sign-up until the email address is verified. */
export function CheckEmail() {
  const { session } = usePortal();
  useTitle('Check your e-mail');
  return (
    <section class="card">
      <h1>Check your e-mail</h1>
      <p>
        We sent a link to {session?.member.email ?? 'your e-mail address'} to verify it. The link is valid for 30
        minutes. Until then you have 1 USD of play money and one call at a time.
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
