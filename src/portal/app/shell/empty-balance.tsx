import type { BalanceResponse } from '../../../billing/statements/schemas.js';
import { usePortal } from '../session';

/** Says that the balance is used up, and what to do about it; renders nothing while money is left. */
export function EmptyBalance({ balance }: { balance: BalanceResponse }) {
  const { mode, session } = usePortal();
  if (balance.available > 0) return null;
  const payment = mode === 'live' ? session?.payment_url : undefined;
  const contact = session?.operator_contact_url;
  return (
    <section class="notice notice-bad" aria-label="Empty balance">
      <p>
        {mode === 'live'
          ? 'The balance is used up, so new calls are rejected.'
          : 'The test balance is used up, so new test calls are rejected.'}
        {payment === undefined && contact === undefined ? ' Ask the operator of this service to add money.' : ''}
      </p>
      {payment === undefined && contact === undefined ? null : (
        <div class="actions">
          {payment === undefined ? null : (
            <a class="button button-main" href={payment} target="_blank" rel="noreferrer">
              Add money
            </a>
          )}
          {contact === undefined ? null : (
            <a
              class="button"
              href={contact}
              {...(contact.startsWith('https:') ? { target: '_blank', rel: 'noreferrer' } : {})}
            >
              Contact the operator
            </a>
          )}
        </div>
      )}
    </section>
  );
}
