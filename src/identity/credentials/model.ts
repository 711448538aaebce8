import { Schema } from 'mongoose';

/** The epoch of cached credentials, in one document. Every change of a key or an account replaces it. */
export interface CredentialEpochDocument {
  _id: string;
  /** A random text, so that no epoch comes back. */
  epoch: string;
}

export const credentialEpochSchema = new Schema<CredentialEpochDocument>(
  { _id: String, epoch: { type: String, required: true } },
  { collection: 'credential_epochs', versionKey: false },
);
