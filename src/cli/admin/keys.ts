import type { Mode } from '../../kernel/ids.js';
import { createApiKeys } from '../../identity/api-keys/api-keys.js';
import { keyPeppersOf } from '../../identity/api-keys/key-search.js';
import type { AdminConnection } from './connect.js';
import { pepperIdOf } from '../../identity/api-keys/api-key-secret.js';
import type { Output } from '../output.js';
import { CliError } from '../run.js';
import { KEY_TABLE } from '../tables.js';
import { apiKeyView } from './views.js';

export async function createKeyFor(
  on: AdminConnection,
  out: Output,
  accountId: string,
  options: { name: string; mode: Mode; expires?: Date },
) {
  const { name, mode, expires } = options;
  const { secret, key } = await keysOf(on).create({
    accountId,
    name,
    mode,
    ...(expires === undefined ? {} : { expiresAt: expires }),
  });
  const sentence = 'Key created. It is shown only once; store it in a safe place.';
  await out.record(sentence, { api_key: secret, ...apiKeyView(key) });
}

export async function listKeysOf(on: AdminConnection, out: Output, accountId: string) {
  const keys = await keysOf(on).list(accountId);
  await out.table(
    keys.map((key) => apiKeyView(key)),
    KEY_TABLE,
  );
}

/** Lists the keys that stop working when the former peppers are removed. */
export async function listKeysOfFormerPeppers(on: AdminConnection, out: Output) {
  if (on.config.formerPeppers.length === 0) {
    throw new CliError(
      'Set API_KEY_FORMER_PEPPERS as in the roles: the command is for the time in which the pepper changes.',
    );
  }
  const keys = await keysOf(on).listOfOtherPeppers(pepperIdOf(on.config.apiKeyPepper));
  await out.table(
    keys.map((key) => apiKeyView(key)),
    { account_id: 'Account', ...KEY_TABLE },
  );
}

export async function revokeKeyById(on: AdminConnection, out: Output, keyId: string) {
  await out.record(
    'Key revoked. Requests with it are rejected from now on.',
    apiKeyView(await keysOf(on).revoke(keyId)),
  );
}

function keysOf({ database, config }: AdminConnection) {
  return createApiKeys({ database, ...keyPeppersOf(config) });
}
