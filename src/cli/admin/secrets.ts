import { resealSecrets, type Resealing } from './resealing.js';
import type { AdminConnection } from './connect.js';
import type { Output } from '../output.js';
import { CliError } from '../run.js';

/**
 * Re-encrypts every stored secret with the newest key in ENCRYPTION_KEYS and shows which keys are no longer needed.
 * @throws CliError when a secret cannot be decrypted
 */
export async function reseal({ config, database }: AdminConnection, out: Output) {
  const { resealed, unreadable, keys } = await resealSecrets({ database, config });
  const newest = config.encryptionKeys[0]?.id;
  const rows = keys.map((key) => ({ key_id: key.keyId, secrets: key.secrets, state: stateOf(key, newest) }));
  if (out.json) await out.record('', { resealed, unreadable, keys: rows });
  else {
    await out.record('All readable secrets are encrypted with the newest key.', { resealed, unreadable });
    await out.table(rows, { key_id: 'Key', secrets: 'Secrets', state: 'State' });
  }
  if (unreadable > 0) throw new CliError(`${unreadable} secrets cannot be read with these ENCRYPTION_KEYS.`);
}

function stateOf({ keyId, secrets, configured }: Resealing['keys'][number], newest: string | undefined): string {
  if (keyId === newest) return 'encrypts new secrets';
  if (secrets === 0) return 'unused: may be removed';
  return configured ? 'in use: keep it and run the command again' : 'in use but missing: add the key again';
}
