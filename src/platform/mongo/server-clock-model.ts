import { Schema } from 'mongoose';

/** The differences to add to the clocks of the database's nodes, so that all of them tell the same time. */
export interface ServerClockDocument {
  _id: string;
  /** Difference in ms, by `nodeKey` of the node. */
  offsets: Record<string, number>;
}

export const serverClockSchema = new Schema<ServerClockDocument>(
  { _id: String, offsets: { type: Schema.Types.Mixed, default: {} } },
  { collection: 'server_clock', versionKey: false, minimize: false },
);
