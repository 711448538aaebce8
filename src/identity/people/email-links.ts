import { createHash, randomBytes } from 'node:crypto';
import type { IdentityDatabase } from '../database.js';
import type { EmailLinkDocument } from './model.js';

const VALID_MS = 30 * 60_000;

export type EmailLinks = ReturnType<typeof createEmailLinks>;
export type LinkPurpose = EmailLinkDocument['purpose'];

/**
 * Manages links that prove control of an e-mail address: random tokens, stored as hashes, valid once and for 30
 * minutes.
 */
export function createEmailLinks({ emailLinks }: IdentityDatabase) {
  return {
    /**
     * Creates a link.
     * @param subject to reset a password, a person's id; to verify an e-mail address, that address
     * @returns the token, which is not stored
     */
    async issue(subject: string, purpose: LinkPurpose): Promise<string> {
      const token = randomBytes(32).toString('base64url');
      const createdAt = new Date();
      const expiresAt = new Date(createdAt.getTime() + VALID_MS);
      await emailLinks.deleteMany({ subject, expiresAt: { $lte: createdAt } });
      await emailLinks.create([{ _id: hashOf(token), purpose, subject, createdAt, expiresAt }]);
      return token;
    },

    /** Returns the subject of a link and leaves the link valid; undefined if the link is not valid. */
    async find(token: string, purpose: LinkPurpose): Promise<string | undefined> {
      const link = await emailLinks.findOne({ _id: hashOf(token), purpose }).lean<EmailLinkDocument>();
      return link && link.expiresAt.getTime() > Date.now() ? link.subject : undefined;
    },

    /**
     * Uses up the link, and all others of the subject for this purpose. Returns false if the link is not valid or was
     * already used.
     */
    async use(token: string, purpose: LinkPurpose): Promise<boolean> {
      const filter = { _id: hashOf(token), purpose, expiresAt: { $gt: new Date() } };
      const link = await emailLinks.findOneAndDelete(filter).lean<EmailLinkDocument>();
      if (link) await emailLinks.deleteMany({ subject: link.subject, purpose });
      return link !== null;
    },
  };
}

/**
 * Returns the URL of a portal page with a token in the fragment. Browsers send the fragment to no server and in no
 * Referer.
 */
export function linkTo(publicBaseUrl: string, page: string, token: string): string {
  return `${publicBaseUrl}/portal/${page}#token=${token}`;
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
