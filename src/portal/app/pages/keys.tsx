import { useState } from 'preact/hooks';
import type { ApiKey } from '../../../identity/accounts/schemas.js';
import { Confirm } from '../components/dialog';
import { Failure, Loaded } from '../components/feedback';
import { SubmitButton, TextField } from '../components/fields';
import { Table } from '../components/pager';
import { Secret, Status, Time } from '../components/values';
import { Page } from '../layout';
import { usePortal } from '../session';
import type { PageOf } from '../types';
import { useData } from '../use-data';
import { useForm } from '../use-form';

export function Keys() {
  const { api, mode } = usePortal();
  const keys = useData(mode, (signal) => api.get<PageOf<ApiKey>>('/api_keys', {}, signal));
  const [revoking, setRevoking] = useState<ApiKey>();
  const [failure, setFailure] = useState<string>();

  return (
    <Page title="API keys">
      <NewKey key={mode} onMade={keys.reload} />
      <Failure>{failure}</Failure>
      <Loaded of={keys} isEmpty={(list) => list.data.length === 0} empty={`There is no ${mode} key yet.`}>
        {(list) => (
          <Table label="API keys" head={['Name', 'Key', 'State', 'Last used', 'Expires', '']}>
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
          text="Requests with it are refused from now on. Running calls go on."
          action="Revoke for good"
          onConfirm={() =>
            api.delete(`/api_keys/${revoking.key_id}`).then(keys.reload, (error: Error) => setFailure(error.message))
          }
          onClose={() => setRevoking(undefined)}
        />
      )}
    </Page>
  );
}

function NewKey({ onMade }: { onMade: () => void }) {
  const { api, mode } = usePortal();
  const [secret, setSecret] = useState<string>();
  const form = useForm({ name: '', expires_at: '' }, async ({ name, expires_at }) => {
    const expiry = expires_at === '' ? {} : { expires_at: new Date(expires_at).toISOString() };
    const made = await api.post<{ secret: string }>('/api_keys', { name, ...expiry });
    setSecret(made.secret);
    form.set({ name: '', expires_at: '' });
    onMade();
  });
  return (
    <form class="card" onSubmit={(event) => void form.submit(event)} noValidate>
      <h2>New {mode} key</h2>
      <Failure>{form.failure}</Failure>
      {secret === undefined ? null : <Secret value={secret} what="This is the key." />}
      <TextField label="Name" hint="What it is for, like “backend”." {...form.field('name')} />
      <TextField label="Expires" type="date" hint="Empty: it does not." {...form.field('expires_at')} />
      <SubmitButton busy={form.busy}>Make the key</SubmitButton>
    </form>
  );
}
