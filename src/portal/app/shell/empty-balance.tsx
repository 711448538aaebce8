import type { BalanceResponse } from '../../../billing/statements/schemas.js';
import { usePortal } from '../session';

const NO_MONEY_YET = {
  live: 'There is no money for live calls yet, so live calls are rejected.',
  test: 'There is no money for test calls yet, so test calls are rejected.',
};
const USED_UP = {
  live: 'The balance is used up, so new calls are rejected.',
  test: 'The test balance is used up, so new test calls are rejected.',
};

/** Says that there is no money, not yet or no more, and what to do about it; renders nothing while money is left. */
export function EmptyBalance({ balance }: { balance: BalanceResponse }) {
  const { mode, session } = usePortal();
  if (balance.available > 0) return null;
  const isNew = balance.credited === 0;
  const payment = mode === 'live' ? session?.payment_url : undefined;
  const contact = session?.operator_contact_url;
  return (
    <section class={isNew ? 'notice' : 'notice notice-bad'} aria-label="Empty balance">
      <p>
        {isNew ? NO_MONEY_YET[mode] : USED_UP[mode]}
        {whatToDo(isNew, payment, contact)}
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

/** A sentence about what the buttons do not say. */
function whatToDo(isNew: boolean, payment: string | undefined, contact: string | undefined): string {
  if (payment !== undefined) return isNew ? ' Add money to place the first one.' : '';
  return isNew || contact === undefined ? ' Ask the operator of this service to add money.' : '';
}
