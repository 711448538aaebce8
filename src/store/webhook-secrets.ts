import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import type { Database } from './database.js';
import type { AccountDocument, StoredWebhookSecret } from './models/account.js';

const SECRET_BYTES = 32;
/** Receivers compare with each signature, so a few of them are no burden; more are not kept. */
const MOST_SECRETS = 3;

export type WebhookSecrets = ReturnType<typeof createWebhookSecrets>;

/**
 * Secrets by which webhooks of an account are signed. Unlike passwords and keys they must be readable, so they are kept
 * encrypted (AES-256-GCM) under a key made from our pepper, and bound to their account.
 */
export function createWebhookSecrets(deps: { database: Database; pepper: string }) {
  const { accounts } = deps.database;
  const key = createHmac('sha256', deps.pepper).update('webhook secrets').digest();

  function seal(accountId: string, secret: Buffer): string {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(accountId));
    const sealed = Buffer.concat([cipher.update(secret), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
  }

  function open(accountId: string, text: string): Buffer {
    const bytes = Buffer.from(text, 'base64');
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAAD(Buffer.from(accountId));
    decipher.setAuthTag(bytes.subarray(12, 28));
    return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]);
  }

  const find = (accountId: string) =>
    accounts.findOne({ _id: accountId }, { webhookSecrets: 1 }).lean<Pick<AccountDocument, '_id' | 'webhookSecrets'>>();

  return {
    /** Those in force, newest first; none: deliveries are not signed. */
    async list(accountId: string): Promise<StoredWebhookSecret[]> {
      return inForce((await find(accountId))?.webhookSecrets, Date.now());
    },

    /** The keys to sign with, newest first. */
    async keys(accountId: string): Promise<Buffer[]> {
      return (await this.list(accountId)).map(({ sealed }) => open(accountId, sealed));
    },

    /**
     * A new secret, in the form of Standard Webhooks; it is in the answer and can be read nowhere else. Those before it
     * sign beside it until the overlap is over.
     * @param overlapMs how long the secrets before go on; 0: they end now
     */
    async rotate(accountId: string, overlapMs: number): Promise<{ secret: string; stored: StoredWebhookSecret }> {
      const bytes = randomBytes(SECRET_BYTES);
      const createdAt = new Date();
      const stored: StoredWebhookSecret = { id: `whs_${ulid()}`, sealed: seal(accountId, bytes), createdAt };
      for (;;) {
        const before = (await find(accountId))?.webhookSecrets;
        const endsAt = createdAt.getTime() + overlapMs;
        const going = overlapMs === 0 ? [] : inForce(before, createdAt.getTime());
        const ending = going.map((each) => ({
          ...each,
          expiresAt: new Date(Math.min(endsAt, each.expiresAt?.getTime() ?? endsAt)),
        }));
        const webhookSecrets = [stored, ...ending].slice(0, MOST_SECRETS);
        // Two who rotate at once must not lose each other's secret.
        const unchanged =
          before === undefined ? { webhookSecrets: { $exists: false } } : { 'webhookSecrets.0.id': before[0]?.id };
        const { matchedCount } = await accounts.updateOne(
          { _id: accountId, ...unchanged },
          { $set: { webhookSecrets } },
        );
        if (matchedCount === 1) return { secret: `whsec_${bytes.toString('base64')}`, stored };
      }
    },

    /** Deliveries are not signed from now on. */
    async remove(accountId: string): Promise<void> {
      await accounts.updateOne({ _id: accountId }, { $unset: { webhookSecrets: '' } });
    },
  };
}

function inForce(secrets: readonly StoredWebhookSecret[] | undefined, now: number): StoredWebhookSecret[] {
  return (secrets ?? []).filter(({ expiresAt }) => expiresAt === undefined || expiresAt.getTime() > now);
}
