import type { CarrierAccount, Config } from '../config/config.js';
import { accountWith, newToken } from '../config/carriers/simulated-accounts.js';
import type { Mode } from '../../kernel/ids.js';
import { isDuplicateKey } from '../mongo/connection.js';
import type { PlatformDatabase } from '../mongo/platform-database.js';
import type { DeploymentSecretDocument } from './model.js';
import { createSecretBox } from './secret-box.js';

/** Whether the simulated carrier's tokens must be loaded from the database. */
export function needsDeploymentTokens({ carriers }: Config): boolean {
  return carriers.live.unsettled === true || carriers.test.unsettled === true;
}

/**
 * Adds the simulated carrier's tokens of this deployment to the configuration, where it has none. The first role to
 * call it creates the tokens; all others read the same ones.
 * @throws the database's error, or Error if ENCRYPTION_KEYS lacks the key that encrypted them
 */
export async function withDeploymentTokens(config: Config, database: PlatformDatabase): Promise<Config> {
  if (!needsDeploymentTokens(config)) return config;
  const box = createSecretBox(config.encryptionKeys);

  async function settled(mode: Mode, account: CarrierAccount): Promise<CarrierAccount> {
    const { unsettled, configuredId, ...rest } = account;
    if (unsettled !== true) return account;
    const _id = `simulator-token:${mode}`;
    const context = deploymentContext(_id);
    const { sealed } = await firstOf(database, { _id, sealed: box.seal(context, newToken()), createdAt: new Date() });
    return { ...rest, ...accountWith(mode, box.open(context, sealed), configuredId) };
  }

  const { live, test } = config.carriers;
  const carriers = { ...config.carriers, live: await settled('live', live), test: await settled('test', test) };
  return { ...config, carriers };
}

/** Returns the encryption context of a deployment secret. @param id of the secret's document */
export function deploymentContext(id: string): string {
  return `deployment:${id}`;
}

/** Returns the stored secret with this id, or stores and returns the given one. */
async function firstOf(
  database: PlatformDatabase,
  secret: DeploymentSecretDocument,
): Promise<DeploymentSecretDocument> {
  const find = () => database.deploymentSecrets.findById(secret._id).lean<DeploymentSecretDocument>().exec();
  const standing = await find();
  if (standing) return standing;
  try {
    await database.deploymentSecrets.create(secret);
    return secret;
  } catch (error) {
    const winner = isDuplicateKey(error) ? await find() : null;
    if (winner === null) throw error;
    return winner;
  }
}
