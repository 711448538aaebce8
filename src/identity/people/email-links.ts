import { createHash, randomBytes } from 'node:crypto';
import type { IdentityDatabase } from '../database.js';
import type { EmailLinkDocument } from './model.js';

const VALID_MS = 30 * 60_000;

export type EmailLinks = ReturnType<typeof createEmailLinks>;
export type LinkPurpose = EmailLinkDocument['purpose'];

/** Links that show that an address is somebody's: random tokens, stored as hashes, valid once and for 30 minutes. */
export function createEmailLinks({ emailLinks }: IdentityDatabase) {
  return {
    /**
     * @param subject whom the link is for: a person's id to reset a password, an e-mail address to verify it
     * @returns the token, which is stored nowhere
     */
    async issue(subject: string, purpose: LinkPurpose): Promise<string> {
      const token = randomBytes(32).toString('base64url');
      const createdAt = new Date();
      const expiresAt = new Date(createdAt.getTime() + VALID_MS);
      await emailLinks.deleteMany({ subject, expiresAt: { $lte: createdAt } });
      await emailLinks.create([{ _id: hashOf(token), purpose, subject, createdAt, expiresAt }]);
      return token;
    },

    /** The link's subject, without using it up; undefined when it is not valid. */
    async find(token: string, purpose: LinkPurpose): Promise<string | undefined> {
      const link = await emailLinks.findOne({ _id: hashOf(token), purpose }).lean<EmailLinkDocument>();
      return link && link.expiresAt.getTime() > Date.now() ? link.subject : undefined;
    },

    /** Uses the link up, and all others of the subject for this purpose; false when somebody else was first. */
    async use(token: string, purpose: LinkPurpose): Promise<boolean> {
      const filter = { _id: hashOf(token), purpose, expiresAt: { $gt: new Date() } };
      const link = await emailLinks.findOneAndDelete(filter).lean<EmailLinkDocument>();
      if (link) await emailLinks.deleteMany({ subject: link.subject, purpose });
      return link !== null;
    },
  };
}

/** A page of the portal with a token. It stands behind the #, which browsers send to no server and in no Referer. */
export function linkTo(publicBaseUrl: string, page: string, token: string): string {
  return `${publicBaseUrl}/portal/${page}#token=${token}`;
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
