import { useLocation } from 'preact-iso';
import { useState } from 'preact/hooks';
import type { AuditEntry } from '../../../identity/accounts/schemas.js';
import { Empty, Failure, Loaded } from '../components/feedback';
import { CheckField, NewPasswordField, SelectField, SubmitButton, TextField } from '../components/fields';
import { Pager, Table } from '../components/pager';
import { Time } from '../components/values';
import { labelOf } from '../labels';
import { PageLayout } from '../layout';
import { usePortal } from '../session';
import { PALETTE_KEYS } from '../shell/commands/shortcuts';
import { chooseTheme, chosenTheme } from '../theme';
import { useForm } from '../use-form';
import { useList } from '../use-list';
import { MembersSection } from '../components/settings/members-section';

export function SettingsPage() {
  const { session } = usePortal();
  const role = session?.member.role;
  return (
    <PageLayout title="Settings">
      <div class="columns">
        <div>
          <Account />
          <Appearance />
        </div>
        <Password />
      </div>
      <MembersSection />
      {role === 'viewer' ? null : <AuditLog />}
    </PageLayout>
  );
}

function Account() {
  const { api, session, refresh } = usePortal();
  const form = useForm({ name: session?.account.name ?? '' }, async (values) => {
    await api.patch('/account', values);
    await refresh();
  });
  const account = session?.account;
  return (
    <form class="card" onSubmit={(event) => void form.submit(event)} noValidate>
      <h2>Account</h2>
      <Failure>{form.failure}</Failure>
      <TextField label="Account name" autocomplete="organization" {...form.field('name')} />
      <dl class="facts">
        <dt>Account ID</dt>
        <dd>
          <code>{account?.account_id}</code>
        </dd>
        <dt>Plan</dt>
        <dd>
          {labelOf(account?.plan ?? '')}: {account?.concurrent_calls} concurrent calls, {account?.requests_per_minute}{' '}
          requests per minute
        </dd>
      </dl>
      <p />
      {session?.member.role === 'owner' ? <SubmitButton busy={form.busy}>Save</SubmitButton> : null}
    </form>
  );
}

function Password() {
  const { api, forget } = usePortal();
  const { route } = useLocation();
  const [changed, setChanged] = useState(false);
  const form = useForm({ current_password: '', new_password: '', revoke_api_keys: false }, async (values) => {
    setChanged(false);
    await api.post('/portal/password', values);
    form.reset({ current_password: '', new_password: '', revoke_api_keys: false });
    setChanged(true);
  });

  async function logOutEverywhere(): Promise<void> {
    await api.post('/portal/log-out-everywhere');
    forget();
    route('/portal/log-in');
  }

  return (
    <form class="card" onSubmit={(event) => void form.submit(event)} noValidate>
      <h2>Password and sessions</h2>
      <Failure>{form.failure}</Failure>
      <TextField
        label="Current password"
        type="password"
        autocomplete="current-password"
        {...form.field('current_password')}
      />
      <NewPasswordField
        label="New password"
        hint="Logs out your other sessions and withdraws your invitations."
        {...form.field('new_password')}
      />
      <CheckField
        label="Revoke the API keys that I created"
        hint="Applications that use them stop working immediately."
        {...form.field('revoke_api_keys')}
      />
      <div class="actions">
        <SubmitButton busy={form.busy}>Change password</SubmitButton>
        <button type="button" class="button" onClick={() => void logOutEverywhere()}>
          Log out on all devices
        </button>
        <span role="status">{changed ? 'Changed.' : ''}</span>
      </div>
    </form>
  );
}

const THEMES = [
  { value: '', label: 'System' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
];

function Appearance() {
  const [theme, setTheme] = useState(chosenTheme());
  return (
    <section class="card" aria-label="Appearance">
      <h2>Appearance</h2>
      <SelectField
        label="Theme"
        name="theme"
        value={theme}
        options={THEMES}
        onChange={(next) => {
          setTheme(next);
          chooseTheme(next);
        }}
      />
      <p class="hint">
        <kbd>{PALETTE_KEYS}</kbd> finds pages, calls and agents, and <kbd>?</kbd> lists all keyboard shortcuts.
      </p>
    </section>
  );
}

function AuditLog() {
  const { list: log, cursor } = useList<AuditEntry>('audit', '/audit_log');
  return (
    <section class="card" aria-label="Audit log">
      <h2>Audit log</h2>
      <Loaded
        of={log}
        isEmpty={(list) => list.data.length === 0}
        empty={
          <Empty icon="settings" title="No changes yet">
            Changes to agents, keys and members appear here, with who made them.
          </Empty>
        }
      >
        {(list) => (
          <>
            <Table label="Audit log entries" head={['Time', 'Actor', 'Action', 'Target']} cards>
              {list.data.map((entry) => (
                <tr role="row" key={entry.id}>
                  <td role="cell">
                    <Time at={entry.at} />
                  </td>
                  <td role="cell">
                    {entry.actor.name} <span class="quiet">{entry.actor.kind}</span>
                  </td>
                  <td role="cell">
                    {labelOf(entry.action)} {entry.unconfirmed && <span class="quiet">not confirmed</span>}
                  </td>
                  <td role="cell">{entry.target === undefined ? null : <code>{entry.target}</code>}</td>
                </tr>
              ))}
            </Table>
            <Pager of={list} cursor={cursor} />
          </>
        )}
      </Loaded>
    </section>
  );
}
