import { Schema } from 'mongoose';

/** A change of stored data that was made, or, with the id `lock`, the process that may make changes now. */
export interface MigrationDocument {
  /** Number of the migration, or `lock`. */
  _id: string;
  name?: string;
  finishedAt?: Date;
  /** The process that has the lock. */
  owner?: string;
  /** Time after which another process may take the lock, on the database server's clock. */
  lockedUntil?: Date;
}

export const migrationSchema = new Schema<MigrationDocument>(
  { _id: String, name: String, finishedAt: Date, owner: String, lockedUntil: Date },
  { collection: 'migrations', versionKey: false },
);
