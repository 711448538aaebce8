import { createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import type { mongo } from 'mongoose';
import { ulid } from 'ulid';
import type { Config } from '../../platform/config/config.js';
import type { WebhooksDatabase } from '../database.js';
import type { AccountDocument, StoredWebhookSecret } from '../../identity/accounts/model.js';
import { createRecentEntries } from '../../platform/recent-entries.js';
import { optimisticUpdate, type UpdateDecision } from '../../platform/mongo/optimistic-update.js';
import type { OnWrite } from '../../platform/mongo/writes.js';
import { createSecretBox } from '../../platform/secrets/secret-box.js';
import type { Mode } from '../../kernel/ids.js';
import { toolKeyOf } from './tool-keys.js';

const SECRET_BYTES = 32;
/** Maximum valid secrets. A webhook has one signature per secret, and webhook endpoints check all of them. */
const MAX_SECRETS = 3;

/** Encrypted secrets that a process caches, at most 1 kB per account. */
const RECENT_SECRETS = { maxEntries: 2_000, maxAgeMs: 5_000 };

export type WebhookSecrets = ReturnType<typeof createWebhookSecrets>;

/** A secret in readable form, as it is stored, and the secrets before it. */
export interface RotatedSecret {
  secret: string;
  /** The secrets of the tools' requests, derived from it. */
  toolSecrets: Record<Mode, string>;
  stored: StoredWebhookSecret;
  before: StoredWebhookSecret[] | undefined;
}

type KeyConfig = Pick<Config, 'apiKeyPepper' | 'formerPeppers' | 'encryptionKeys'>;

/**
 * Encrypts webhook secrets, each bound to its account and id. Earlier releases encrypted them with a key derived from
 * the API key pepper; those can still be decrypted.
 */
export function createWebhookSecretBox(config: KeyConfig) {
  const box = createSecretBox(config.encryptionKeys);
  return {
    /** @returns `StoredWebhookSecret.sealed` */
    seal: (accountId: string, id: string, secret: Buffer) =>
      box.seal(contextOf(accountId, id), secret.toString('base64')),

    /** @throws Error when the encryption key is no longer configured, or the secret belongs to another account or id */
    open(accountId: string, { id, sealed }: Pick<StoredWebhookSecret, 'id' | 'sealed'>): Buffer {
      if (isSealedByPepper(sealed))
        return openWithAny([config.apiKeyPepper, ...config.formerPeppers], accountId, sealed);
      return Buffer.from(box.open(contextOf(accountId, id), sealed), 'base64');
    },
  };
}

/** Whether an earlier release encrypted this secret. Newer encrypted secrets start with a key id and a dot. */
export function isSealedByPepper(sealed: string): boolean {
  return !sealed.includes('.');
}

function contextOf(accountId: string, id: string): string {
  return `webhook-secret ${accountId} ${id}`;
}

/** @throws Error of the last pepper if none fits */
function openWithAny([pepper = '', ...others]: readonly string[], accountId: string, sealed: string): Buffer {
  try {
    return openWithPepper(pepper, accountId, sealed);
  } catch (error) {
    if (others.length === 0) throw error;
    return openWithAny(others, accountId, sealed);
  }
}

function openWithPepper(pepper: string, accountId: string, sealed: string): Buffer {
  const key = createHmac('sha256', pepper).update('webhook secrets').digest();
  const bytes = Buffer.from(sealed, 'base64');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 });
  decipher.setAAD(Buffer.from(accountId));
  decipher.setAuthTag(bytes.subarray(12, 28));
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]);
}

/**
 * Manages the secrets that sign an account's webhooks. Unlike passwords and API keys, their values are needed again, so
 * they are stored encrypted instead of hashed.
 */
export function createWebhookSecrets(deps: { database: WebhooksDatabase; config: KeyConfig }) {
  const { accounts } = deps.database;
  const box = createWebhookSecretBox(deps.config);
  const recent = createRecentEntries<readonly StoredWebhookSecret[]>(RECENT_SECRETS);

  const find = (accountId: string) =>
    accounts.findOne({ _id: accountId }, { webhookSecrets: 1 }).lean<Pick<AccountDocument, '_id' | 'webhookSecrets'>>();

  return {
    /** Lists the valid secrets, newest first. Without any, webhooks are not signed. */
    async list(accountId: string): Promise<StoredWebhookSecret[]> {
      return activeSecrets((await find(accountId))?.webhookSecrets, Date.now());
    },

    /** Caches the secrets of an account that was just read, for {@link recentKeys}. */
    remember({ _id, webhookSecrets = [] }: Pick<AccountDocument, '_id' | 'webhookSecrets'>): void {
      recent.set(_id, webhookSecrets);
    },

    /**
     * Like `keys`, but a change of the last five seconds may be missing. Good enough for a first attempt: if the receiver
     * rejects the signature, the next attempt has the current ones.
     */
    async recentKeys(accountId: string): Promise<Buffer[]> {
      const known = recent.get(accountId);
      if (known === undefined) return this.keys(accountId);
      return activeSecrets(known, Date.now()).map((stored) => box.open(accountId, stored));
    },

    /**
     * Returns the decrypted signing keys, newest first.
     * @throws Error when an encryption key is no longer configured
     */
    async keys(accountId: string): Promise<Buffer[]> {
      return (await this.list(accountId)).map((stored) => box.open(accountId, stored));
    },

    /** Like `keys`, but the keys for the requests of tools in calls of this mode. */
    async toolKeys(accountId: string, mode: Mode): Promise<Buffer[]> {
      return (await this.keys(accountId)).map((key) => toolKeyOf(key, mode));
    },

    /**
     * Creates a secret in the format of Standard Webhooks. Only this result contains the secret in readable form.
     * Earlier secrets also sign until the overlap ends.
     * @param overlapMs how long earlier secrets stay valid, in ms; 0 ends them now
     */
    async rotate(accountId: string, overlapMs: number): Promise<RotatedSecret> {
      const bytes = randomBytes(SECRET_BYTES);
      const createdAt = new Date();
      const id = `whs_${ulid()}`;
      const stored: StoredWebhookSecret = { id, sealed: box.seal(accountId, id, bytes), createdAt };
      const decide = (
        found: AccountDocument | null,
      ): UpdateDecision<AccountDocument, StoredWebhookSecret[] | undefined> => {
        if (found === null) throw new Error(`There is no account ${accountId}.`);
        const before = found.webhookSecrets;
        const endsAt = createdAt.getTime() + overlapMs;
        const active = overlapMs === 0 ? [] : activeSecrets(before, createdAt.getTime());
        const ending = active.map((each) => ({
          ...each,
          expiresAt: new Date(Math.min(endsAt, each.expiresAt?.getTime() ?? endsAt)),
        }));
        const webhookSecrets = [stored, ...ending].slice(0, MAX_SECRETS);
        // Concurrent rotations must not overwrite each other's secret.
        const when =
          before === undefined ? { webhookSecrets: { $exists: false } } : { 'webhookSecrets.0.id': before[0]?.id };
        return { answer: before, when, update: { $set: { webhookSecrets } } };
      };
      const documents = accounts.collection as unknown as mongo.Collection<AccountDocument>;
      const named = { name: 'accounts', projection: { webhookSecrets: 1 } } as const;
      const before = await optimisticUpdate(documents, accountId, decide, named);
      const toolSecrets = { live: textOf(toolKeyOf(bytes, 'live')), test: textOf(toolKeyOf(bytes, 'test')) };
      return { secret: textOf(bytes), toolSecrets, stored, before };
    },

    /** Restores the secrets that a rotation has replaced, unless they have changed again meanwhile. */
    async undoRotation(accountId: string, { stored, before }: RotatedSecret): Promise<void> {
      const change = before === undefined ? { $unset: { webhookSecrets: '' } } : { $set: { webhookSecrets: before } };
      await accounts.updateOne({ _id: accountId, 'webhookSecrets.0.id': stored.id }, change);
    },

    /** Removes all secrets. After that, webhooks are not signed. @param onWrite called if there were any */
    async remove(accountId: string, onWrite: OnWrite): Promise<void> {
      const { modifiedCount } = await accounts.updateOne({ _id: accountId }, { $unset: { webhookSecrets: '' } });
      if (modifiedCount > 0) onWrite();
    },
  };
}

/** A key in the format of Standard Webhooks. */
function textOf(key: Buffer): string {
  return `whsec_${key.toString('base64')}`;
}

function activeSecrets(secrets: readonly StoredWebhookSecret[] | undefined, now: number): StoredWebhookSecret[] {
  return (secrets ?? []).filter(({ expiresAt }) => expiresAt === undefined || expiresAt.getTime() > now);
}
