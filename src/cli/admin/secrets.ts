import { createApiKeyQueries } from '../../identity/api-keys/api-key-queries.js';
import { isDevelopmentKey } from '../../platform/config/encryption.js';
import { DEVELOPMENT_PEPPER } from '../../platform/config/environment.js';
import { resealSecrets, type Resealing } from './resealing.js';
import type { AdminConnection } from './connect.js';
import type { Output } from '../output.js';
import { CliError, EXIT_USAGE } from '../run.js';

/**
 * Re-encrypts every stored secret with the newest key in ENCRYPTION_KEYS and shows which keys are no longer needed.
 * @throws CliError when the newest key is the published one, or a secret cannot be decrypted
 */
export async function reseal(on: AdminConnection, out: Output) {
  await requireEncryptionKeys(on);
  const { config, database } = on;
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

/**
 * Requires that secrets are not encrypted with the published development key, unless the database is that of a
 * development service: one that was started in this folder, or one whose API keys have the development pepper.
 * @throws CliError
 */
export async function requireEncryptionKeys({ config, database, isLocal }: AdminConnection): Promise<void> {
  if (isLocal || !isDevelopmentKey(config.encryptionKeys[0])) return;
  const isDevelopment = config.apiKeyPepper === DEVELOPMENT_PEPPER;
  if (isDevelopment && (await createApiKeyQueries(database).hasAnyOf([DEVELOPMENT_PEPPER]))) return;
  throw new CliError(
    'ENCRYPTION_KEYS is not set, so that secrets would be encrypted with a published key. Set it as for the service with this database. Nothing was changed.',
    EXIT_USAGE,
  );
}
