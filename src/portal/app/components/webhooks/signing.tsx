import { useState } from 'preact/hooks';
import type { RotatedSigning, WebhookSigning } from '../../../../webhooks/schemas.js';
import { usePortal } from '../../session';
import { useAction } from '../../use-action';
import { useData } from '../../use-data';
import { Failure, Loaded } from '../feedback';
import { Secret, Time } from '../values';

type NewSigning = Pick<RotatedSigning, 'secret' | 'tool_secrets'>;

/** Settings for signing webhooks by the Standard Webhooks scheme. Signing is off by default. */
export function Signing() {
  const { session } = usePortal();
  const { signing, secrets, failure, rotate, turnOff } = useSigning();
  const isOwner = session?.member.role === 'owner';
  return (
    <section class="card" aria-label="Webhook signing">
      <h2>Webhook signing</h2>
      <Failure>{failure}</Failure>
      {secrets === undefined ? null : <NewSecrets of={secrets} />}
      <Loaded of={signing}>
        {({ enabled, secrets: inForce }) => (
          <>
            {enabled ? (
              <SigningSecrets of={inForce} />
            ) : (
              <p>Webhooks are not signed. Sign them so that your server can verify where they come from.</p>
            )}
            {isOwner ? <SigningActions enabled={enabled} rotate={rotate} turnOff={turnOff} /> : null}
          </>
        )}
      </Loaded>
    </section>
  );
}

/** Loads and changes whether webhooks are signed. New secrets are shown until the next change. */
function useSigning() {
  const { api } = usePortal();
  const signing = useData('signing', (signal) => api.get<WebhookSigning>('/webhook_signing', {}, signal));
  const [secrets, setSecrets] = useState<NewSigning>();
  const { failure, act } = useAction<NewSigning | WebhookSigning>((changed) => {
    setSecrets('secret' in changed ? changed : undefined);
    signing.reload();
  });
  const change = (doing: Promise<NewSigning | WebhookSigning>) => {
    setSecrets(undefined);
    void act(doing);
  };
  return {
    signing,
    secrets,
    failure,
    rotate: () => change(api.post('/webhook_signing/rotate')),
    turnOff: () => change(api.delete('/webhook_signing')),
  };
}

function NewSecrets({ of: { secret, tool_secrets: ofTools } }: { of: NewSigning }) {
  return (
    <>
      <Secret value={secret} what="Your signing secret" />
      <p>Requests of tools are signed with other secrets:</p>
      <Secret value={ofTools.live} what="Tools in live calls" />
      <Secret value={ofTools.test} what="Tools in test calls" />
    </>
  );
}

function SigningSecrets({ of: secrets }: { of: WebhookSigning['secrets'] }) {
  return (
    <>
      <p>Each webhook is signed with every webhook secret in force, as Standard Webhooks describes:</p>
      <ul>
        {secrets.map((secret) => (
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
    </>
  );
}

function SigningActions({ enabled, rotate, turnOff }: { enabled: boolean; rotate: () => void; turnOff: () => void }) {
  if (!enabled) {
    return (
      <button type="button" class="button" onClick={rotate}>
        Turn signing on
      </button>
    );
  }
  return (
    <div class="actions">
      <button type="button" class="button" onClick={rotate}>
        Rotate secret
      </button>
      <button type="button" class="button" onClick={turnOff}>
        Turn signing off
      </button>
    </div>
  );
}
