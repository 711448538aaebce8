import { useState } from 'preact/hooks';
import type { ApiKey } from '../../../identity/accounts/schemas.js';
import { SmallButton } from '../components/buttons';
import { Confirm } from '../components/dialog';
import { Empty, Failure, Loaded } from '../components/feedback';
import { SubmitButton, TextField } from '../components/fields';
import { Icon } from '../components/icon';
import { Table } from '../components/pager';
import { Secret, Status, Time } from '../components/values';
import { PageLayout } from '../layout';
import { usePortal } from '../session';
import type { ListPage } from '../types';
import { useAction } from '../use-action';
import { useData } from '../use-data';
import { useForm } from '../use-form';

export function KeysPage() {
  const { api, mode } = usePortal();
  const keys = useData(mode, (signal) => api.get<ListPage<ApiKey>>('/api_keys', {}, signal));
  const [revoking, setRevoking] = useState<ApiKey>();
  const { failure, act } = useAction(keys.reload);

  return (
    <PageLayout title="API keys">
      <NewKey key={mode} onCreated={keys.reload} />
      <Failure>{failure}</Failure>
      <Loaded
        of={keys}
        isEmpty={(list) => list.data.length === 0}
        empty={
          <Empty icon="keys" title={`No ${mode} keys yet`}>
            Your application sends a key with each request: <code>Authorization: Bearer sk_{mode}_…</code> A test key
            places simulated calls, a live key real ones. The key is shown once, when you create it.
          </Empty>
        }
      >
        {(list) => (
          <Table label="API keys" head={['Name', 'Key', 'Status', 'Last used', 'Expires', '']} cards>
            {list.data.map((key) => (
              <KeyRow key={key.key_id} of={key} onRevoke={() => setRevoking(key)} />
            ))}
          </Table>
        )}
      </Loaded>
      {revoking === undefined ? null : (
        <Confirm
          title={`Revoke ${revoking.name}?`}
          text="Requests with this key will be rejected immediately. Calls in progress continue."
          action="Revoke key"
          onConfirm={() => act(api.delete(`/api_keys/${revoking.key_id}`))}
          onClose={() => setRevoking(undefined)}
        />
      )}
    </PageLayout>
  );
}

function KeyRow({ of: key, onRevoke }: { of: ApiKey; onRevoke: () => void }) {
  return (
    <tr role="row">
      <td role="cell" class="wide breakable">
        {key.name}
      </td>
      <td role="cell">
        <code>
          {key.prefix}…{key.last_four}
        </code>
      </td>
      <td role="cell">
        <Status of={key.state} />
      </td>
      <td role="cell">
        <Time at={key.last_used_at} />
      </td>
      <td role="cell">
        <Time at={key.expires_at} />
      </td>
      <td role="cell" class="number">
        {key.state === 'active' ? (
          <SmallButton label={`Revoke ${key.name}`} onClick={onRevoke}>
            Revoke
          </SmallButton>
        ) : null}
      </td>
    </tr>
  );
}

function NewKey({ onCreated }: { onCreated: () => void }) {
  const { api, mode } = usePortal();
  const [secret, setSecret] = useState<string>();
  const form = useForm({ name: '', expires_at: '' }, async ({ name, expires_at }) => {
    const expiry = expires_at === '' ? {} : { expires_at: new Date(expires_at).toISOString() };
    const created = await api.post<{ secret: string }>('/api_keys', { name, ...expiry });
    setSecret(created.secret);
    form.reset({ name: '', expires_at: '' });
    onCreated();
  });
  return (
    <form class="card" onSubmit={(event) => void form.submit(event)} noValidate>
      <h2>Create {mode} key</h2>
      <Failure>{form.failure}</Failure>
      {secret === undefined ? null : <Secret value={secret} what="Your API key" />}
      <div class="field-pair">
        <TextField label="Name" hint="The use of the key, like “backend”." {...form.field('name')} />
        <TextField
          label="Expires"
          type="date"
          hint="Leave empty for a key that does not expire."
          {...form.field('expires_at')}
        />
      </div>
      <SubmitButton busy={form.busy}>
        <Icon name="plus" /> Create key
      </SubmitButton>
    </form>
  );
}
