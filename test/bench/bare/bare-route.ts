import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { openConnection } from '../../../src/platform/mongo/connection.js';
import { bareSettings } from './settings.js';

/** The least that a read must do: a Koa route with one read by id. */
async function main(): Promise<void> {
  const { connection: database } = await openConnection(bareSettings().mongodbUri);
  const calls = database.collection<{ _id: string }>('calls');
  const app = new Koa();
  app.use(async (ctx) => {
    const call = await calls.findOne({ _id: String(ctx.query['call_id']) });
    if (call === null) ctx.status = 404;
    else ctx.body = call;
  });
  const server = app.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
  process.once('SIGTERM', () => process.exit());
  process.once('disconnect', () => process.exit());
}

void main();
