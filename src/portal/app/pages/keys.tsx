import { useState } from 'preact/hooks';
import type { ApiKey } from '../../../identity/accounts/schemas.js';
import { Confirm } from '../components/dialog';
import { Failure, Loaded } from '../components/feedback';
import { SubmitButton, TextField } from '../components/fields';
import { Table } from '../components/pager';
import { Secret, Status, Time } from '../components/values';
import { PageLayout } from '../layout';
import { usePortal } from '../session';
import type { ListPage } from '../types';
import { useData } from '../use-data';
import { useForm } from '../use-form';

export function KeysPage() {
  const { api, mode } = usePortal();
  const keys = useData(mode, (signal) => api.get<ListPage<ApiKey>>('/api_keys', {}, signal));
  const [revoking, setRevoking] = useState<ApiKey>();
  const [failure, setFailure] = useState<string>();

  return (
    <PageLayout title="API keys">
      <NewKey key={mode} onCreated={keys.reload} />
      <Failure>{failure}</Failure>
      <Loaded of={keys} isEmpty={(list) => list.data.length === 0} empty={`No ${mode} keys yet.`}>
        {(list) => (
          <Table label="API keys" head={['Name', 'Key', 'Status', 'Last used', 'Expires', '']}>
            {list.data.map((key) => (
              <tr key={key.key_id}>
                <td>{key.name}</td>
                <td>
                  <code>
                    {key.prefix}…{key.last_four}
                  </code>
                </td>
                <td>
                  <Status of={key.state} />
                </td>
                <td>
                  <Time at={key.last_used_at} />
                </td>
                <td>
                  <Time at={key.expires_at} />
                </td>
                <td>
                  {key.state === 'active' ? (
                    <button
                      type="button"
                      class="button button-small"
                      aria-label={`Revoke ${key.name}`}
                      onClick={() => setRevoking(key)}
                    >
                      Revoke
                    </button>
                  ) : null}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Loaded>
      {revoking === undefined ? null : (
        <Confirm
          title={`Revoke ${revoking.name}?`}
          text="Requests with this key will be rejected immediately. Calls in progress continue."
          action="Revoke key"
          onConfirm={() =>
            api.delete(`/api_keys/${revoking.key_id}`).then(keys.reload, (error: Error) => setFailure(error.message))
          }
          onClose={() => setRevoking(undefined)}
        />
      )}
    </PageLayout>
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
      {secret === undefined ? null : <Secret value={secret} what="Your API key." />}
      <TextField label="Name" hint="The use of the key, like “backend”." {...form.field('name')} />
      <TextField
        label="Expires"
        type="date"
        hint="Leave empty for a key that does not expire."
        {...form.field('expires_at')}
      />
      <SubmitButton busy={form.busy}>Create key</SubmitButton>
    </form>
  );
}
