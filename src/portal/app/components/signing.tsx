import { useState } from 'preact/hooks';
import { usePortal } from '../session';
import { useData } from '../use-data';
import { Failure, Loaded } from './feedback';
import { Secret, Time } from './values';

interface SigningState {
  enabled: boolean;
  /** A secret that is still valid beside the present one. */
  previous_valid_until?: string;
}

/** Signing of webhooks by the Standard Webhooks scheme: off until somebody turns it on. */
export function Signing() {
  const { api } = usePortal();
  const signing = useData('signing', (signal) => api.get<SigningState>('/webhook_signing', {}, signal));
  const [secret, setSecret] = useState<string>();
  const [failure, setFailure] = useState<string>();

  const act = (doing: Promise<unknown>) => {
    setFailure(undefined);
    setSecret(undefined);
    doing.then(
      (answer) => {
        if (typeof answer === 'object' && answer !== null && 'secret' in answer) setSecret(String(answer.secret));
        signing.reload();
      },
      (error: Error) => setFailure(error.message),
    );
  };

  return (
    <section class="card" aria-label="Signing">
      <h2>Signing</h2>
      <Failure>{failure}</Failure>
      {secret === undefined ? null : <Secret value={secret} what="This is the signing secret." />}
      <Loaded of={signing}>
        {(state) =>
          state.enabled ? (
            <>
              <p>
                Webhooks are signed by the Standard Webhooks scheme.{' '}
                {state.previous_valid_until === undefined ? null : (
                  <>
                    The secret before is used beside the new one until <Time at={state.previous_valid_until} />.
                  </>
                )}
              </p>
              <div class="actions">
                <button type="button" class="button" onClick={() => act(api.post('/webhook_signing/rotate'))}>
                  New secret
                </button>
                <button type="button" class="button" onClick={() => act(api.delete('/webhook_signing'))}>
                  Turn signing off
                </button>
              </div>
            </>
          ) : (
            <>
              <p>Webhooks are not signed. With signing, your server can tell that they come from here.</p>
              <button type="button" class="button" onClick={() => act(api.post('/webhook_signing'))}>
                Turn signing on
              </button>
            </>
          )
        }
      </Loaded>
    </section>
  );
}
