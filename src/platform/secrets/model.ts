import { Schema } from 'mongoose';

/** A secret that all roles of a deployment share, created by the first role that needs it and never changed. */
export interface DeploymentSecretDocument {
  /** Its purpose, for example `simulator-token:live`. */
  _id: string;
  /** Encrypted by the secret box, with `deployment:<_id>` as its context. */
  sealed: string;
  createdAt: Date;
}

export const deploymentSecretSchema = new Schema<DeploymentSecretDocument>(
  { _id: String, sealed: { type: String, required: true }, createdAt: { type: Date, required: true } },
  { collection: 'deployment_secrets', versionKey: false },
);
