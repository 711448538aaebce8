import { useState } from 'preact/hooks';
import type { WebhookSigning } from '../../../webhooks/schemas.js';
import { usePortal } from '../session';
import { useData } from '../use-data';
import { Failure, Loaded } from './feedback';
import { Secret, Time } from './values';

/** Settings for signing webhooks by the Standard Webhooks scheme. Signing is off by default. */
export function Signing() {
  const { api, session } = usePortal();
  const isOwner = session?.member.role === 'owner';
  const signing = useData('signing', (signal) => api.get<WebhookSigning>('/webhook_signing', {}, signal));
  const [secret, setSecret] = useState<string>();
  const [failure, setFailure] = useState<string>();

  const act = (doing: Promise<unknown>) => {
    setFailure(undefined);
    setSecret(undefined);
    doing.then(
      (response) => {
        if (typeof response === 'object' && response !== null && 'secret' in response)
          setSecret(String(response.secret));
        signing.reload();
      },
      (error: Error) => setFailure(error.message),
    );
  };

  return (
    <section class="card" aria-label="Webhook signing">
      <h2>Webhook signing</h2>
      <Failure>{failure}</Failure>
      {secret === undefined ? null : <Secret value={secret} what="Your signing secret." />}
      <Loaded of={signing}>
        {(state) =>
          state.enabled ? (
            <>
              <p>Webhooks are signed with each of these secrets, as Standard Webhooks describes:</p>
              <ul>
                {state.secrets.map((secret) => (
                  <li key={secret.created_at}>
                    created <Time at={secret.created_at} />
                    {secret.expires_at === undefined ? null : (
                      <>
                        , valid until <Time at={secret.expires_at} />
                      </>
                    )}
                  </li>
                ))}
              </ul>
              {isOwner ? (
                <div class="actions">
                  <button type="button" class="button" onClick={() => act(api.post('/webhook_signing/rotate'))}>
                    Rotate secret
                  </button>
                  <button type="button" class="button" onClick={() => act(api.delete('/webhook_signing'))}>
                    Turn signing off
                  </button>
                </div>
              ) : null}
            </>
          ) : (
            <>
              <p>Webhooks are not signed. Sign them so that your server can verify where they come from.</p>
              {isOwner ? (
                <button type="button" class="button" onClick={() => act(api.post('/webhook_signing/rotate'))}>
                  Turn signing on
                </button>
              ) : null}
            </>
          )
        }
      </Loaded>
    </section>
  );
}
