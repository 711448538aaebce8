import { Schema } from 'mongoose';

/** A secret that all roles of a deployment share, made by whichever needs it first. Never changed afterwards. */
export interface DeploymentSecretDocument {
  /** What it is for, for example `simulator-token:live`. */
  _id: string;
  /** Sealed by the secret box, with `deployment:<_id>` as its context. */
  sealed: string;
  createdAt: Date;
}

export const deploymentSecretSchema = new Schema<DeploymentSecretDocument>(
  { _id: String, sealed: { type: String, required: true }, createdAt: { type: Date, required: true } },
  { collection: 'deployment_secrets', versionKey: false },
);
